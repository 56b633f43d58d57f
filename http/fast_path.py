"""The fast path: a plain request for an endpoint of the API, or for an inbox, is answered without the web framework.

For each request Quart makes a context, a request, a response and a nursery. That costs several times what most answers
cost. Quart keeps what is unusual: pages, unknown paths, other methods, and bodies without a `Content-Type`.
"""

from __future__ import annotations

from functools import cache

from .access.context import HttpContext
from .asgi import Application, Receive, Scope, Send, send_answer
from .dispatch import respond
from .endpoints import PathTable, all_endpoints
from .intake.request import request_of
from .server.bodies import KEY

ROOT = "/api/"
# The framework would take more time than everything else that an inbox does, and it gets no Host header.
INBOX = "/inbox"


class FastPath:
    """An ASGI application around another one, which gets all requests but those for the API and for inboxes."""

    def __init__(self, context: HttpContext, inner: Application) -> None:
        self._context = context
        self._inner = inner
        self._paths = _paths()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._paths.find(scope["method"], scope["path"]) if _is_plain(scope) else None
        if found is None:
            await self._inner(scope, receive, send)
        else:
            endpoint, path = found
            request = request_of(scope, self._context.secret, scope.get(KEY))
            await send_answer(send, await respond(self._context, endpoint, request, path))


@cache
def _paths() -> PathTable:
    """Return the table of the endpoints that this path serves. All applications of a process share it."""
    return PathTable(endpoint for endpoint in all_endpoints() if _is_fast(endpoint.path))


def _is_fast(path: str) -> bool:
    return path.startswith(ROOT) or path.endswith(INBOX)


def _is_plain(scope: Scope) -> bool:
    """True if the whole body will be read. A body that is not read would hold up the connection."""
    if scope["type"] != "http" or KEY in scope:
        return scope["type"] == "http"
    announced = any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )
    return scope["http_version"] < "2" and not announced

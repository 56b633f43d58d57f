"""The fast path: requests for an endpoint of the API, or for an inbox, are answered without the web framework.

For each request Quart makes a context, a request, a response and a nursery. That costs several times what most answers
cost. Quart keeps what is unusual: pages, unknown paths, other methods, and bodies without a `Content-Type`.

There are two ways to an endpoint, which `FastPath` finds for both. The connection takes plain requests from the socket
(`server/plain.py`), because hypercorn and ASGI cost several times what most answers cost as well. Other requests, such
as those of HTTP/2 and those with large bodies, come through hypercorn to an ASGI application.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from functools import cache

from .access.context import HttpContext
from .answers.headers import request_id
from .asgi import Application, Receive, Scope, Send, send_answer
from .dispatch import respond
from .endpoints import PathTable, all_endpoints
from .intake.request import Request, request_of
from .network_gate import is_barred
from .router import Endpoint
from .server.bodies import KEY
from .server.plain import PlainRequest

ROOT = "/api/"
# The framework would take more time than everything else that an inbox does, and it gets no Host header.
INBOX = "/inbox"


class FastPath:
    """Finds the endpoint of a request, and answers plain requests."""

    def __init__(self, context: HttpContext) -> None:
        self.context = context
        self._paths = _paths()

    def find(self, method: str, path: str) -> tuple[Endpoint, dict[str, str]] | None:
        """Return the endpoint and the values of its path's parameters; None if Quart has to answer."""
        return self._paths.find("GET" if method == "HEAD" else method, path)

    def answer(self, plain: PlainRequest, client: str) -> Awaitable[bytes] | None:
        """Return the answer to a plain request, as HTTP/1.1 sends it; None if it is not for this path."""
        found = self.find(plain.method, plain.path)
        if found is None:
            return None
        context = self.context
        body = _ArrivedBody(plain.body)
        request = Request(plain.method, plain.path, plain.query, plain.headers, client, body)
        if context.blocks.networks.bar_some and is_barred(context, request.address(context.settings.trusted_proxies)):
            return None  # `NetworkGate` refuses it.
        request.request_id = request_id(request.header(b"x-request-id"), context.new_request_id)
        return self._answer(*found, request)

    async def _answer(self, endpoint: Endpoint, path: dict[str, str], request: Request) -> bytes:
        answer = await respond(self.context, endpoint, request, path)
        return answer.http_1(head_only=request.method == "HEAD")


class _ArrivedBody:
    """A body that has arrived as a whole."""

    __slots__ = ("_left",)

    def __init__(self, body: bytes) -> None:
        self._left = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        body, self._left = self._left, b""
        return body


class FastRoutes:
    """An ASGI application around another one, which gets the requests for which the fast path has no endpoint."""

    def __init__(self, fast: FastPath, inner: Application) -> None:
        self._fast = fast
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._fast.find(scope["method"], scope["path"]) if _is_read(scope) else None
        if found is None:
            await self._inner(scope, receive, send)
        else:
            endpoint, path = found
            context = self._fast.context
            request = request_of(scope, context.new_request_id, scope.get(KEY))
            await send_answer(send, await respond(context, endpoint, request, path))


@cache
def _paths() -> PathTable:
    """Return the table of the endpoints that this path serves. All applications of a process share it."""
    return PathTable(endpoint for endpoint in all_endpoints() if _is_fast(endpoint.path))


def _is_fast(path: str) -> bool:
    return path.startswith(ROOT) or path.endswith(INBOX)


def _is_read(scope: Scope) -> bool:
    """True if the whole body will be read. HTTP/2 need not announce one, and an unread body holds up the connection."""
    return scope["type"] == "http" and (KEY in scope or scope["http_version"] < "2")

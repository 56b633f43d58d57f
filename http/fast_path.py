"""The API's endpoints in front of the framework: a request that is plain is answered without it.

Quart makes a context, a request, a response and a nursery for each request, which costs several times what most answers
cost. What is unusual stays with it: other methods, unknown paths, pages, and bodies that don't say what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .access.context import HttpContext
from .asgi import Application, Receive, Scope, Send, send_answer
from .dispatch import respond
from .intake.request import request_of
from .router import SEGMENT, Endpoint
from .server.bodies import KEY

ROOT = "/api/"


class FastPath:
    """An ASGI application around another one, which gets what is not for an endpoint below `/api/`."""

    def __init__(self, context: HttpContext, endpoints: Iterable[Endpoint], inner: Application) -> None:
        self._context = context
        self._inner = inner
        self._paths = Paths(endpoint for endpoint in endpoints if endpoint.path.startswith(ROOT))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._paths.find(scope["method"], scope["path"]) if _is_plain(scope) else None
        if found is None:
            await self._inner(scope, receive, send)
        else:
            endpoint, path = found
            request = request_of(scope, self._context.secret, scope.get(KEY))
            await send_answer(send, await respond(self._context, endpoint, request, path))


@dataclass(slots=True, eq=False)
class _Node:
    """What may follow a beginning of paths."""

    words: dict[str, _Node] = field(default_factory=dict)
    parameter: _Node | None = None
    end: Endpoint | None = None


class Paths:
    """Endpoints by method and path. Where a word and a parameter both fit, the word wins."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._methods: dict[str, _Node] = {}
        self._names: dict[str, list[str]] = {}
        for endpoint in endpoints:
            self._add(endpoint)
            self._names[endpoint.path] = SEGMENT.findall(endpoint.path)

    def find(self, method: str, path: str) -> tuple[Endpoint, dict[str, str]] | None:
        """The endpoint, and what stands in the places of its parameters."""
        root = self._methods.get(method)
        found = None if root is None else _walk(root, path.split("/"), 0, ())
        if found is None:
            return None
        endpoint, values = found
        return endpoint, dict(zip(self._names[endpoint.path], values, strict=True))

    def _add(self, endpoint: Endpoint) -> None:
        node = self._methods.setdefault(endpoint.method, _Node())
        for part in endpoint.path.split("/"):
            if SEGMENT.fullmatch(part) is None:
                node = node.words.setdefault(part, _Node())
            else:
                node.parameter = node.parameter or _Node()
                node = node.parameter
        node.end = node.end or endpoint


def _walk(
    node: _Node, parts: Sequence[str], at: int, values: tuple[str, ...]
) -> tuple[Endpoint, tuple[str, ...]] | None:
    if at == len(parts):
        return None if node.end is None else (node.end, values)
    word = node.words.get(parts[at])
    found = None if word is None else _walk(word, parts, at + 1, values)
    if found is None and node.parameter is not None and parts[at]:
        found = _walk(node.parameter, parts, at + 1, (*values, parts[at]))
    return found


def _is_plain(scope: Scope) -> bool:
    """Whether all there is to read will be read: a body that nobody reads would hold up the connection."""
    if scope["type"] != "http" or KEY in scope:
        return scope["type"] == "http"
    announced = any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )
    return scope["http_version"] < "2" and not announced

"""The outermost layer of the application: each path gets the one spelling that limits, headers and endpoints use."""

from __future__ import annotations

import re

from ..asgi import HOSTS, Application, Receive, Scope, Send

SLASHES = re.compile("//+")


class NormalizedPaths:
    """An ASGI application around another one, which gets normalized paths."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "/")
        if not path.startswith("/") or "//" in path:
            scope = {**scope, "path": normalized(path)}
        await self._inner(scope, receive, send)


def normalized(path: str) -> str:
    """Return a path with exactly one slash in front, and one between two segments.

    RFC 9112 lets clients send a whole address in place of a path. Apps join addresses and paths to
    `//api/v1/instance` or `/api/v1//instance`, which the reference server answers. The framework's router ignores
    further slashes in front; without this, they would circumvent all checks of how a path begins.
    """
    _, colon, rest = path.partition("://")
    if colon and not path.startswith("/"):
        path = rest.partition("/")[2]
    return SLASHES.sub("/", f"/{path}")


def without_host(inner: Application) -> Application:
    """Return an application that gets no Host header, because the framework fails if that is not a valid name.

    Signed requests are checked for it: it stays in the scope.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        hosts = [header for header in scope.get("headers", ()) if header[0] == b"host"]
        if hosts:
            others = [header for header in scope["headers"] if header[0] != b"host"]
            scope = {**scope, "headers": others, HOSTS: hosts}
        await inner(scope, receive, send)

    return serve

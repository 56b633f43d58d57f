"""The outermost layer of the application: each path gets the one spelling that limits, headers and endpoints use."""

from __future__ import annotations

from ..asgi import HOSTS, Application, Receive, Scope, Send


class NormalizedPaths:
    """An ASGI application around another one, which gets normalized paths."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "/")
        if not path.startswith("/") or path.startswith("//"):
            scope = {**scope, "path": normalized(path)}
        await self._inner(scope, receive, send)


def normalized(path: str) -> str:
    """Return a path with exactly one slash in front.

    RFC 9112 lets clients send a whole address in place of a path. The framework's router ignores further slashes;
    without this, they would circumvent all checks of how a path begins.
    """
    _, colon, rest = path.partition("://")
    if colon and not path.startswith("/"):
        path = rest.partition("/")[2]
    return f"/{path.lstrip('/')}"


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

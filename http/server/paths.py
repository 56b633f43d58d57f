"""What every connection passes first: paths in the one spelling that limits, headers and endpoints go by."""

from __future__ import annotations

from ..asgi import Application, Receive, Scope, Send


class NormalizedPaths:
    """An ASGI application around another one."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "/")
        if not path.startswith("/") or path.startswith("//"):
            scope = {**scope, "path": normalized(path)}
        await self._inner(scope, receive, send)


def normalized(path: str) -> str:
    """A path with one slash in front. RFC 9112 has servers take whole addresses in its place; slashes too many are
    nothing to the framework's router, and would be a way around all that looks at how a path begins."""
    _, colon, rest = path.partition("://")
    if colon and not path.startswith("/"):
        path = rest.partition("/")[2]
    return f"/{path.lstrip('/')}"


def without_host(inner: Application) -> Application:
    """The application without the Host header, of which nothing here depends and at which the framework fails when it
    is no name."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if any(name == b"host" for name, _ in scope.get("headers", ())):
            scope = {**scope, "headers": [header for header in scope["headers"] if header[0] != b"host"]}
        await inner(scope, receive, send)

    return serve

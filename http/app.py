"""The ASGI application: the layers that a request passes, from the outermost to the innermost.

    NormalizedPaths   gives each path the one spelling that limits, headers and endpoints go by
    RequestBodies     lets a body through as fast as an endpoint reads it
    NetworkGate       refuses clients of networks that staff keep out
    StreamingRoutes   answers WebSockets and server-sent events
    FastRoutes        answers requests for the API's endpoints
    WebFramework      answers everything else by Quart: pages, bodies without a type, unknown paths

Except for streams, every answer is made by `dispatch`. `framework.py` and `server/listener.py` are the only modules
that know which framework serves.
"""

from __future__ import annotations

import re

import trio

from .access.context import HttpContext
from .asgi import HOSTS, Application, Receive, Scope, Send
from .fast_path import FastPath, FastRoutes
from .network_gate import NetworkGate
from .server.bodies import RequestBodies
from .streaming.routes import StreamingRoutes

SLASHES = re.compile("//+")


def make_app(context: HttpContext, framework: Application) -> NormalizedPaths:
    """Return the layers in front of the web framework."""
    fast = FastRoutes(FastPath(context), without_host(framework))
    return NormalizedPaths(RequestBodies(NetworkGate(context, StreamingRoutes(context, fast))))


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


class WebFramework:
    """The web framework, from the first request on that needs it.

    Its import takes a fifth of a second and 12 MiB. It happens in a thread, so that other requests do not wait.
    """

    def __init__(self, context: HttpContext) -> None:
        self._context = context
        self._app: Application | None = None
        self._importing = trio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._app or await self._imported())(scope, receive, send)

    async def _imported(self) -> Application:
        async with self._importing:
            if self._app is None:
                self._app = await trio.to_thread.run_sync(_import, self._context)
        return self._app


def _import(context: HttpContext) -> Application:
    from .framework import make_quart

    return make_quart(context).asgi_app

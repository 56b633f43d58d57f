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

import trio

from .access.context import HttpContext
from .asgi import Application, Receive, Scope, Send
from .fast_path import FastPath, FastRoutes
from .network_gate import NetworkGate
from .server.bodies import RequestBodies
from .server.paths import NormalizedPaths, without_host
from .streaming.routes import StreamingRoutes


def make_app(context: HttpContext, framework: Application) -> NormalizedPaths:
    """Return the layers in front of the web framework."""
    fast = FastRoutes(FastPath(context), without_host(framework))
    return NormalizedPaths(RequestBodies(NetworkGate(context, StreamingRoutes(context, fast))))


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

"""The routes of the streaming API, which is served without the framework."""

from __future__ import annotations

from ..access.context import HttpContext
from ..asgi import Application, Receive, Scope, Send
from .frames import SseFrames, WebSocketFrames
from .sse import serve_sse
from .websocket import refuse_websocket, serve_websocket

ROOT = "/api/v1/streaming"
HEALTH = "health"
READING = ("GET", "HEAD")


class StreamingRoutes:
    """An ASGI application around another one, which gets all requests that are not streams."""

    def __init__(self, context: HttpContext, inner: Application) -> None:
        self._context = context
        self._inner = inner
        streams, base_url = context.streams, context.settings.base_url
        self._sse = SseFrames(context.rendered, base_url, streams.server_sent)
        self._websocket = WebSocketFrames(context.rendered, base_url, streams.websockets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        below = _below_root(scope.get("path", ""))
        if scope["type"] == "websocket" and below is None:
            await refuse_websocket(self._context, scope, receive, send)
        elif scope["type"] == "websocket":
            # The stream is named by the query or by frames, wherever below the root the socket is opened.
            await serve_websocket(self._context, self._websocket, scope, receive, send)
        elif scope["type"] == "http" and scope["method"] in READING and below and below != HEALTH:
            await serve_sse(self._context, self._sse, scope, below, receive, send)
        else:
            await self._inner(scope, receive, send)


def _below_root(path: str) -> str | None:
    """Return the part of a path below the streaming API, without slashes around it; None for other paths."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        return None
    return path[len(ROOT) :].strip("/")

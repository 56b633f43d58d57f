"""Streams as server-sent events: one stream on each connection, named by the path."""

from __future__ import annotations

import trio

from ..access.context import HttpContext
from ..answers.headers import CORS, NOSNIFF
from ..asgi import Message, Receive, Scope, Send, encoded, send_answer
from ..dispatch import answer_to_error, with_headers
from ..intake.nesting import nest
from ..intake.request import Request, request_of
from .admission import admit, dismiss
from .channels import by_path
from .connection import StreamConnection, chunk, connection_of
from .delivery import KERNEL_BUFFER, deliver, deliver_by_server
from .frames import Frames
from .session import Session

# Comments, which show proxies and clients that the connection is alive.
GREETING = b":)\n\n"
HEARTBEAT = b":thump\n\n"
HEARTBEAT_SECONDS = 15.0

# `X-Accel-Buffering` keeps nginx from collecting events until there are enough of them.
HEADERS = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "private, no-store"),
    ("X-Accel-Buffering", "no"),
    NOSNIFF,
    *CORS,
)


async def serve_sse(
    context: HttpContext, frames: Frames, scope: Scope, path: str, receive: Receive, send: Send
) -> None:
    """Serve one stream from its request to its end; `path` is the part below the streaming API."""
    request = request_of(scope, context.secret)
    try:
        session = await _admit(context, frames, request, path)
    except Exception as error:
        await send_answer(send, with_headers(answer_to_error(context, request, error, page=False), request))
        return
    try:
        headers = encoded((*HEADERS, ("X-Request-Id", request.request_id)))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if request.method == "HEAD":
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await _run(session, connection_of(scope), receive, send)
    finally:
        dismiss(context, session)


async def _admit(context: HttpContext, frames: Frames, request: Request, path: str) -> Session:
    return await admit(context, request, frames, want=lambda _: by_path(path, nest(request.query)))


async def _run(session: Session, connection: StreamConnection | None, receive: Receive, send: Send) -> None:
    if connection is not None:
        connection.limit_buffer(KERNEL_BUFFER)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_until_disconnected, receive, nursery.cancel_scope)
        await _send_frames(session, connection, send)
        nursery.cancel_scope.cancel()


async def _send_frames(session: Session, connection: StreamConnection | None, send: Send) -> None:
    with session.sending_scope:
        await send(_body(GREETING))  # the server sends the headers along
        while frames := await _next(session):
            data = b"".join(frames)
            if connection is not None:
                await deliver(session, connection, chunk(data))
            else:
                await deliver_by_server(session, send, _body(data))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(session: Session) -> list[bytes]:
    with trio.move_on_after(HEARTBEAT_SECONDS):
        return await session.take()
    return [HEARTBEAT]


async def _until_disconnected(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _body(chunk: bytes) -> Message:
    return {"type": "http.response.body", "body": chunk, "more_body": True}

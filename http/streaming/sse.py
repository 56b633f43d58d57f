"""Streams as server-sent events. A connection has one stream, which the path names."""

from __future__ import annotations

from http import HTTPStatus

import trio

from ..access.context import HttpContext
from ..access.streams import StreamEnd
from ..answers.answer import CORS, NOSNIFF, FinishedAnswer, head_of
from ..asgi import Message, Receive, Scope, Send, encoded, send_answer
from ..intake.decoding import nest
from ..intake.request import Request, request_of
from ..server.stream_sockets import StreamSocket
from .admission import admit, dismiss, shake_hands
from .channels import StreamQuery, by_path
from .connection import Wire, chunk, connection_of
from .frames import Frames
from .session import StreamSession
from .stream_writer import DirectStream, send_by_server

# Comments, which show proxies and clients that the connection is alive. No empty line follows: Mastodon.py up to
# version 2.2.0 takes an empty line for the end of an event, and fails because the event is empty.
GREETING = b":)\n"
HEARTBEAT = b":thump\n"
HEARTBEAT_SECONDS = 15.0  # as in Mastodon

WIRE = Wire(chunk)
LAST_CHUNK = b"0\r\n\r\n"
FRAMING = (("Transfer-Encoding", "chunked"), ("Connection", "close"))

# `X-Accel-Buffering` turns off nginx's buffer, which would delay events.
HEADERS = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "private, no-store"),
    ("X-Accel-Buffering", "no"),
    NOSNIFF,
    *CORS,
)


class EventStream(DirectStream):
    """The owner of a socket with server-sent events. The client sends nothing more."""

    __slots__ = ()

    def receive(self, data: bytes) -> None:
        """Drop the bytes: no other request is answered on this connection."""

    def first_keep_alive(self, now: float) -> float:
        return now + HEARTBEAT_SECONDS

    def keep_alive(self, socket: StreamSocket, now: float) -> float:
        if not socket.is_full:
            socket.send(WIRE.of([HEARTBEAT]))
        return now + HEARTBEAT_SECONDS

    def closing_bytes(self, why: StreamEnd) -> bytes:
        return LAST_CHUNK


async def serve_sse(
    context: HttpContext, frames: Frames, scope: Scope, path: str, receive: Receive, send: Send
) -> None:
    """Serve a stream from its request to its end. `path` is the part below the streaming API."""
    request = request_of(scope, context.new_request_id)
    session = await shake_hands(context, request, _admit(context, frames, request, path), 200)
    if isinstance(session, FinishedAnswer):
        await send_answer(send, session)
        return
    headers = (*HEADERS, ("X-Request-Id", request.request_id))
    connection = connection_of(scope) if request.method != "HEAD" else None
    head = head_of(HTTPStatus.OK, headers + FRAMING) + chunk(GREETING)
    if connection is not None and connection.hand_over(EventStream(context, session, WIRE, head)):
        return
    try:
        await send({"type": "http.response.start", "status": 200, "headers": encoded(headers)})
        if request.method == "HEAD":
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await _run(session, receive, send)
    finally:
        dismiss(context, session)


async def _admit(context: HttpContext, frames: Frames, request: Request, path: str) -> StreamSession:
    # Without an id the stream sends only events: some clients fail on a block that only sets an id.
    since = request.header(b"last-event-id") or StreamQuery.read(nest(request.query)).since
    return await admit(context, request, frames, want=lambda _: by_path(path, nest(request.query)), since=since)


async def _run(session: StreamSession, receive: Receive, send: Send) -> None:
    """Send through hypercorn, for a stream that was not handed over."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_until_disconnected, receive, nursery.cancel_scope)
        with session.sending_until_end():
            await send(_body(GREETING))  # hypercorn sends the headers with it
            while frames := await _next(session):
                await send_by_server(session, send, _body(b"".join(frames)))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        nursery.cancel_scope.cancel()


async def _next(session: StreamSession) -> list[bytes]:
    with trio.move_on_after(HEARTBEAT_SECONDS):
        return await session.take()
    return [HEARTBEAT]


async def _until_disconnected(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _body(chunk: bytes) -> Message:
    return {"type": "http.response.body", "body": chunk, "more_body": True}

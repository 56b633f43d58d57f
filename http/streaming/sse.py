"""Streams as server-sent events: one a connection, named by the path."""

from __future__ import annotations

import trio

from ..dispatch import explain, finish
from ..headers import CORS
from ..house import House
from ..parameters import nest
from ..request import Request
from .admission import admit, dismiss, secret_of
from .asgi import Message, Receive, Scope, Send, encoded, request_of, send_answer
from .channels import by_path
from .frames import Frames
from .session import Session
from .wire import Wire, chunk, wire_of

# Comments, which tell proxies and clients that the line is alive.
GREETING = b":)\n\n"
HEARTBEAT = b":thump\n\n"
HEARTBEAT_SECONDS = 15.0

# `X-Accel-Buffering` keeps nginx from collecting events until there are enough of them.
HEADERS = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "private, no-store"),
    ("X-Accel-Buffering", "no"),
    *CORS,
)


async def serve_sse(house: House, frames: Frames, scope: Scope, path: str, receive: Receive, send: Send) -> None:
    """One stream from its request to its end; `path` is what stands below the streaming API."""
    request = request_of(house, scope)
    try:
        session = await _admit(house, frames, request, path)
    except Exception as error:
        await send_answer(send, finish(explain(house, request, error, page=False), request, None))
        return
    try:
        headers = encoded((*HEADERS, ("X-Request-Id", request.request_id)))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if request.method == "HEAD":
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await _converse(session, wire_of(scope), receive, send)
    finally:
        dismiss(house, session)


async def _admit(house: House, frames: Frames, request: Request, path: str) -> Session:
    wanted = by_path(path, nest(request.query))
    return await admit(house, request, secret_of(request), frames.for_sse, wanted)


async def _converse(session: Session, wire: Wire | None, receive: Receive, send: Send) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_until_hung_up, receive, nursery.cancel_scope)
        await _speak(session, wire, send)
        nursery.cancel_scope.cancel()


async def _speak(session: Session, wire: Wire | None, send: Send) -> None:
    with session.speaking:
        await send(_body(GREETING))  # the server sends the headers along
        while (frame := await _next(session)) is not None:
            if wire is not None:
                await wire.write(chunk(frame))
            else:
                await send(_body(frame))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(session: Session) -> bytes | None:
    with trio.move_on_after(HEARTBEAT_SECONDS):
        return await session.take()
    return HEARTBEAT


async def _until_hung_up(receive: Receive, conversation: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    conversation.cancel()


def _body(chunk: bytes) -> Message:
    return {"type": "http.response.body", "body": chunk, "more_body": True}

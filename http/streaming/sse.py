"""Streams as server-sent events: one stream on each connection, named by the path."""

from __future__ import annotations

from time import perf_counter

import trio

from ..access.context import HttpContext
from ..access.pump import Pump
from ..answers.headers import CORS, NOSNIFF
from ..asgi import Message, Receive, Scope, Send, encoded, send_answer
from ..dispatch import answer_to_error, with_headers
from ..intake.nesting import nest
from ..intake.request import Request, request_of
from .admission import admit, count_request, dismiss
from .channels import StreamQuery, by_path
from .connection import Wire, chunk, connection_of
from .delivery import KERNEL_BUFFER, DirectOutlet, deliver_by_server
from .frames import Frames
from .session import Session

# Comments, which show proxies and clients that the connection is alive.
GREETING = b":)\n\n"
HEARTBEAT = b":thump\n\n"
HEARTBEAT_SECONDS = 15.0

WIRE = Wire(chunk)

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
    began = perf_counter()
    request = request_of(scope, context.new_request_id)
    try:
        session = await _admit(context, frames, request, path)
    except Exception as error:
        answer = with_headers(answer_to_error(context, request, error, page=False), request)
        count_request(context, request, answer.status, began)
        await send_answer(send, answer)
        return
    count_request(context, request, 200, began)
    try:
        headers = encoded((*HEADERS, ("X-Request-Id", request.request_id)))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if request.method == "HEAD":
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await _run(session, _outlet(scope), context.pump, receive, send)
    finally:
        dismiss(context, session)


async def _admit(context: HttpContext, frames: Frames, request: Request, path: str) -> Session:
    # Without one of the two, nothing but events is sent: some clients refuse a block that is no event.
    since = request.header(b"last-event-id") or StreamQuery.read(nest(request.query)).since
    return await admit(context, request, frames, want=lambda _: by_path(path, nest(request.query)), since=since)


def _outlet(scope: Scope) -> DirectOutlet | None:
    """Return the direct way to the client, if there is one, with the limits of a stream."""
    connection = connection_of(scope)
    if connection is None:
        return None
    connection.limit_buffer(KERNEL_BUFFER)
    return DirectOutlet(connection, WIRE)


async def _run(session: Session, outlet: DirectOutlet | None, pump: Pump, receive: Receive, send: Send) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_until_disconnected, receive, nursery.cancel_scope)
        with session.sending_scope:
            await send(_body(GREETING))  # the server sends the headers along
            if outlet is not None:
                await _send_directly(session, outlet, pump)
            else:
                await _send_by_server(session, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        nursery.cancel_scope.cancel()


async def _send_directly(session: Session, outlet: DirectOutlet, pump: Pump) -> None:
    """Send until the session has ended. Heartbeats come also between events."""
    is_full = True
    while is_full:
        with trio.move_on_after(HEARTBEAT_SECONDS) as quiet:
            is_full = await session.wait_until_full(outlet, pump)
        if quiet.cancelled_caught:
            outlet.send_now([HEARTBEAT])
        elif is_full:
            await outlet.send_rest(session)


async def _send_by_server(session: Session, send: Send) -> None:
    while frames := await _next(session):
        await deliver_by_server(session, send, _body(b"".join(frames)))


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

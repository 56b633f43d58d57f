"""Streams over a WebSocket: many on one connection, opened and closed by text frames."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import orjson
import trio

from ...actors.kernel import NotAnswered
from ...storage.oauth import Token
from ..access.context import HttpContext
from ..access.limits import count_for_account
from ..access.pump import Pump
from ..access.rates import SUBSCRIPTIONS
from ..access.streams import End
from ..answers.errors import TRY_AGAIN, HttpError
from ..asgi import Message, Receive, Scope, Send, encoded, send_answer
from ..dispatch import answer_to_error, refuse_route, with_headers
from ..intake.nesting import Value, nest
from ..intake.request import Request, request_of
from .admission import admit, count_request, dismiss
from .channels import RequestedStream, StreamQuery, by_name, check
from .connection import Wire, connection_of, text_frame
from .delivery import KERNEL_BUFFER, DirectOutlet, deliver_by_server
from .frames import Frames, refusal
from .session import Session

# A ping is sent every 14 s, so a client that does not answer is noticed when the next one is due. It is disconnected
# within 30 s, even if the kernel's buffer has room for all that it was sent.
READ_TIMEOUT = 28.0

WIRE = Wire(text_frame)


async def serve_websocket(context: HttpContext, frames: Frames, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one connection from its handshake to its end."""
    await receive()  # `websocket.connect`
    began = perf_counter()
    request = request_of(scope, context.new_request_id)
    protocols: list[str] = scope["subprotocols"]
    try:
        session = await _admit(context, frames, request, protocols[0] if protocols else None)
    except Exception as error:
        answer = with_headers(answer_to_error(context, request, error, page=False), request)
        count_request(context, request, answer.status, began)
        await send_answer(send, answer, "websocket.http")
        return
    count_request(context, request, 101, began)
    subscriptions = Subscriptions(context, request, session)
    try:
        await _open_named(subscriptions, request)
        await send(_acceptance(request, protocols))
        await _run(session, subscriptions, _outlet(scope), context.pump, receive, send)
    finally:
        dismiss(context, session)


async def refuse_websocket(context: HttpContext, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a handshake on a path without streams."""
    await receive()
    answer = await refuse_route(context, request_of(scope, context.new_request_id), None)
    await send_answer(send, answer, "websocket.http")


async def _admit(context: HttpContext, frames: Frames, request: Request, protocol: str | None) -> Session:
    def refuse_strangers(token: Token | None) -> None:
        wanted = _named(StreamQuery.read(nest(request.query)))
        if token is None and wanted is not None and not wanted.channel.public:
            check(wanted, None)

    return await admit(context, request, frames, protocol, refuse_strangers)


async def _open_named(subscriptions: Subscriptions, request: Request) -> None:
    """Open the stream of the URL, if it names one. A function of its own: the caller's variables live as long as the
    connection."""
    query = StreamQuery.read(nest(request.query))
    if query.stream:
        await subscriptions.open(query)


def _named(query: StreamQuery) -> RequestedStream | None:
    """Return the stream of the URL; None if it is wrong. The error is then sent over the open socket."""
    try:
        return by_name(query)
    except HttpError:
        return None


def _acceptance(request: Request, protocols: list[str]) -> Message:
    """The answer to a handshake. Browsers require one of the protocols that they offered, although it is a token."""
    return {
        "type": "websocket.accept",
        "subprotocol": protocols[0] if protocols else None,
        "headers": encoded((("X-Request-Id", request.request_id),)),
    }


def _outlet(scope: Scope) -> DirectOutlet | None:
    """Return the direct way to the client, if there is one, with the limits of a stream."""
    connection = connection_of(scope)
    if connection is None:
        return None
    connection.limit_buffer(KERNEL_BUFFER)
    connection.set_read_timeout(READ_TIMEOUT)  # clients answer pings
    return DirectOutlet(connection, WIRE)


async def _run(
    session: Session,
    subscriptions: Subscriptions,
    outlet: DirectOutlet | None,
    pump: Pump,
    receive: Receive,
    send: Send,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive_commands, session, subscriptions, receive, nursery.cancel_scope)
        with session.sending_scope:
            if outlet is not None:
                await _send_directly(session, outlet, pump)
            else:
                await _send_by_server(session, send)
            if session.ended is not None:
                await send({"type": "websocket.close", "code": session.ended.code, "reason": session.ended.reason})
        nursery.cancel_scope.cancel()


async def _send_directly(session: Session, outlet: DirectOutlet, pump: Pump) -> None:
    while await session.wait_until_full(outlet, pump):
        await outlet.send_rest(session)


async def _send_by_server(session: Session, send: Send) -> None:
    while frames := await session.take():
        for frame in frames:
            await deliver_by_server(session, send, {"type": "websocket.send", "text": frame.decode()})


async def _receive_commands(
    session: Session, subscriptions: Subscriptions, receive: Receive, scope: trio.CancelScope
) -> None:
    while (message := await receive())["type"] != "websocket.disconnect":
        text = message.get("text")
        if text is None:
            session.end(End.BINARY)
        else:
            await subscriptions.execute(text)
    scope.cancel()


class Subscriptions:
    """The streams of one connection, which its client opens and closes."""

    def __init__(self, context: HttpContext, request: Request, session: Session) -> None:
        self._context = context
        self._request = request
        self._session = session

    async def execute(self, text: str) -> None:
        """Carry out the command in a frame. A frame that is not a command is ignored, as by the reference server."""
        try:
            command: Value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        match command:
            case {"type": "subscribe"}:
                await self.open(_query(command))
            case {"type": "unsubscribe"}:
                self._close(_query(command))
            case _:
                pass

    async def open(self, query: StreamQuery | None) -> None:
        """Open a stream, or send the reason why not in a frame. Each attempt counts."""
        session = self._session
        try:
            count_for_account(self._context, self._request, session.token, SUBSCRIPTIONS)
            query = query or StreamQuery()
            await session.subscribe(by_name(query), query.since)
        except HttpError as error:
            session.reply(refusal(error.text, error.status))
        except NotAnswered:
            session.reply(refusal(TRY_AGAIN, 503))

    def _close(self, query: StreamQuery | None) -> None:
        try:
            self._session.unsubscribe(by_name(query or StreamQuery()))
        except HttpError:
            self._session.reply(refusal("Error unsubscribing from channel"))


def _query(command: Mapping[str, object]) -> StreamQuery | None:
    try:
        return StreamQuery.read(command)
    except HttpError:
        return None

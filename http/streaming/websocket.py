"""Streams over WebSockets. A connection has many streams, which text frames open and close."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from http import HTTPStatus
from math import inf

import orjson
import trio
from wsproto.utilities import generate_accept_token

from ...actors.kernel import NotAnswered
from ...actors.kernel.errors import describe
from ...storage.oauth import Token
from ..access.context import HttpContext
from ..access.rates import SUBSCRIPTIONS
from ..access.streams import StreamEnd
from ..answers.answer import FinishedAnswer, head_of
from ..answers.errors import TRY_AGAIN, HttpError
from ..asgi import Message, Receive, Scope, Send, encoded, send_answer
from ..dispatch import refuse_route
from ..intake.decoding import Value, nest
from ..intake.request import Request, request_of
from ..server import limits
from ..server.stream_sockets import StreamSocket
from .admission import admit, counted_since, dismiss, shake_hands
from .channels import RequestedStream, StreamQuery, by_name, check
from .client_frames import ClientFrame, ClientFrames, Opcode, WrongFrame
from .connection import CLOSE, PING, PONG, StreamConnection, Wire, connection_of, control_frame, text_frame
from .frames import Frames, refusal
from .session import StreamSession
from .stream_writer import DirectStream, send_by_server

# A ping is sent every 14 s. A client that has not answered two pings is disconnected within 30 s, even if the kernel's
# buffer has room for all sent bytes.
READ_TIMEOUT = 28.0
LARGEST_MESSAGE = 64 * 1024  # clients only send subscriptions
# Pings that are answered while sent bytes wait for the client.
MOST_PONGS = 16

WIRE = Wire(text_frame)


async def serve_websocket(context: HttpContext, frames: Frames, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a connection from its handshake to its end, or hand it over to a `WebSocketStream`."""
    await receive()  # `websocket.connect`
    request = request_of(scope, context.new_request_id)
    protocols: list[str] = scope["subprotocols"]
    opening = _admit(context, frames, request, protocols[0] if protocols else None)
    session = await shake_hands(context, request, opening, 101)
    if isinstance(session, FinishedAnswer):
        await send_answer(send, session, "websocket.http")
        return
    subscriptions, is_handed_over = Subscriptions(context, session), False
    try:
        query = StreamQuery.read(nest(request.query))
        if query.stream:
            await subscriptions.open(query)
        connection = connection_of(scope)
        if connection is not None:
            stream = WebSocketStream(context, session, subscriptions, _head(request, protocols))
            is_handed_over = connection.hand_over(stream)
        if not is_handed_over:
            await send(_acceptance(request, protocols))
            await _run(session, subscriptions, connection, receive, send)
    finally:
        if not is_handed_over:
            dismiss(context, session)


class WebSocketStream(DirectStream):
    """A WebSocket after its handshake. A task executes the client's commands, one after the other."""

    __slots__ = ("_commands", "_frames", "_heard_at", "_life", "_pings_at", "_pongs", "_subscriptions")

    def __init__(self, context: HttpContext, session: StreamSession, subscriptions: Subscriptions, head: bytes) -> None:
        super().__init__(context, session, WIRE, head)
        self._subscriptions = subscriptions
        self._frames = ClientFrames(LARGEST_MESSAGE)
        self._commands: deque[str] | None = None  # commands that wait; None if no task runs
        self._life: trio.CancelScope | None = None  # of the task that executes commands
        self._heard_at = self._pings_at = 0.0
        self._pongs = 0

    def receive(self, data: bytes) -> None:
        self._heard_at = trio.current_time()
        try:
            for frame in self._frames.receive(data):
                self._take(frame)
        except WrongFrame as wrong:
            self._close(wrong.code.to_bytes(2))

    def progress(self) -> None:
        self._heard_at, self._pongs = trio.current_time(), 0
        super().progress()

    def first_keep_alive(self, now: float) -> float:
        self._heard_at, self._pings_at = now, now + limits.PING
        return min(self._pings_at, now + READ_TIMEOUT)

    def keep_alive(self, socket: StreamSocket, now: float) -> float:
        if now >= self._heard_at + READ_TIMEOUT:
            socket.close()
        if now >= self._pings_at:
            socket.send(control_frame(PING))
            self._pings_at = now + limits.PING
        return min(self._pings_at, self._heard_at + READ_TIMEOUT)

    def closing_bytes(self, why: StreamEnd) -> bytes:
        return control_frame(CLOSE, why.code.to_bytes(2) + why.reason.encode())

    def lost(self) -> None:
        if self._commands is None:
            super().lost()
            return
        self._socket = None  # a command may be about to subscribe: `_execute` dismisses the session afterwards
        if self._life is not None:
            self._life.cancel()

    def _take(self, frame: ClientFrame) -> None:
        socket = self._socket
        if socket is None:
            return
        match frame.opcode:
            case Opcode.TEXT:
                self._queue(socket, frame.payload.decode())
            case Opcode.BINARY:
                self._session.end(StreamEnd.BINARY)
            case Opcode.PING if self._pongs < MOST_PONGS:
                # Only pongs that wait in memory are counted: a client that reads may send any number of pings.
                self._pongs += socket.is_full
                socket.send(control_frame(PONG, frame.payload))
            case Opcode.CLOSE:
                self._close(frame.payload[:2])
            case _:
                pass

    def _close(self, code: bytes) -> None:
        """Send a close frame, because the client has closed or has violated the protocol."""
        if self._socket is not None:
            self._ends_by = self._keep_alive_at = inf
            self._socket.finish(control_frame(CLOSE, code))

    def _queue(self, socket: StreamSocket, text: str) -> None:
        if self._commands is None:
            self._commands = deque([text])
            # Further bytes of the client wait in the kernel, not in this process, until all commands are executed.
            socket.set_reading(False)
            socket.start(self._execute)
        else:
            self._commands.append(text)  # commands of one read: no more bytes are read until all are executed

    async def _execute(self) -> None:
        try:
            with trio.CancelScope() as self._life:
                while self._commands and self._socket is not None:
                    await self._subscriptions.execute(self._commands.popleft())
        except Exception as error:
            self._session.fail(StreamEnd.LOST, describe(error))
        finally:
            self._commands = self._life = None
            if self._socket is None:
                super().lost()
            else:
                self._socket.set_reading(True)


async def refuse_websocket(context: HttpContext, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a handshake on a path without streams."""
    await receive()
    answer = await refuse_route(context, request_of(scope, context.new_request_id))
    await send_answer(send, answer, "websocket.http")


async def _admit(context: HttpContext, frames: Frames, request: Request, protocol: str | None) -> StreamSession:
    def refuse_strangers(token: Token | None) -> None:
        wanted = _named(StreamQuery.read(nest(request.query)))
        if token is None and wanted is not None and not wanted.channel.public:
            check(wanted, None)

    return await admit(context, request, frames, protocol, refuse_strangers)


def _named(query: StreamQuery) -> RequestedStream | None:
    """Return the stream of the URL; None if it is invalid. The error is then sent over the open socket."""
    try:
        return by_name(query)
    except HttpError:
        return None


def _acceptance(request: Request, protocols: list[str]) -> Message:
    """Return the ASGI answer to a handshake. Browsers require a protocol that they offered, although it is a token."""
    return {
        "type": "websocket.accept",
        "subprotocol": protocols[0] if protocols else None,
        "headers": encoded((("X-Request-Id", request.request_id),)),
    }


def _head(request: Request, protocols: list[str]) -> bytes:
    """Return the answer to a handshake as HTTP/1.1 bytes."""
    key = request.raw_header(b"sec-websocket-key") or b""
    headers = (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", generate_accept_token(key).decode()),
        ("X-Request-Id", request.request_id),
    )
    chosen = (("Sec-WebSocket-Protocol", protocols[0]),) if protocols else ()
    return head_of(HTTPStatus.SWITCHING_PROTOCOLS, headers + chosen)


async def _run(
    session: StreamSession,
    subscriptions: Subscriptions,
    connection: StreamConnection | None,
    receive: Receive,
    send: Send,
) -> None:
    """Send through hypercorn, for a connection that was not handed over."""
    if connection is not None:
        connection.set_read_timeout(READ_TIMEOUT)  # clients answer pings
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive_commands, session, subscriptions, receive, nursery.cancel_scope)
        with session.sending_until_end():
            while frames := await session.take():
                for frame in frames:
                    await send_by_server(session, send, {"type": "websocket.send", "text": frame.decode()})
                    if connection is not None:
                        connection.reset_read_timeout()
            if session.ended is not None:
                await send({"type": "websocket.close", "code": session.ended.code, "reason": session.ended.reason})
        nursery.cancel_scope.cancel()


async def _receive_commands(
    session: StreamSession, subscriptions: Subscriptions, receive: Receive, scope: trio.CancelScope
) -> None:
    while (message := await receive())["type"] != "websocket.disconnect":
        text = message.get("text")
        if text is None:
            session.end(StreamEnd.BINARY)
        else:
            await subscriptions.execute(text)
    scope.cancel()


class Subscriptions:
    """Opens and closes the streams of a connection on the client's commands."""

    __slots__ = ("_context", "_session")

    def __init__(self, context: HttpContext, session: StreamSession) -> None:
        self._context = context
        self._session = session

    async def execute(self, text: str) -> None:
        """Execute the command in a frame. A frame that is not a command is ignored, as by the reference server."""
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
        """Open a stream, or send the error in a frame. Each attempt counts."""
        session = self._session
        try:
            self._context.limits.count_for_client(session.address, session.token, SUBSCRIPTIONS)
            query = query or StreamQuery()
            wanted = by_name(query)
            await session.subscribe(wanted, counted_since(self._context, session, query.since))
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

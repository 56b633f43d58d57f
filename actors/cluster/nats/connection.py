"""An open connection to a server of NATS, from the login to its loss.

Three tasks share it. One reads, and hands on what has come. One writes: all that was sent in a round of the event loop
goes out together. One looks whether the server still answers: a server that is frozen, or behind a broken network,
closes nothing. It is noticed within `SILENCE + PING_EVERY` seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import trio

from .handshake import READ_AT_ONCE, ConnectionLost, Greeting, check, explained, io
from .protocol import (
    PING,
    PONG,
    Connect,
    Info,
    NatsMessage,
    Operation,
    Oversized,
    Parser,
    ProtocolError,
    ServerError,
    Signal,
    log_in,
    subscribe,
    unsubscribe,
)
from .servers import BrokerServer

PING_EVERY = 0.5  # seconds
SILENCE = 1.25  # seconds without a byte of the server, which answers PING at once
# Seconds until the answer to a PING, if other bytes come. The answer waits behind them, and their number is bounded.
LATEST_PONG = 5.0
MOST_BUFFERED = 16 << 20  # bytes that wait to be written. A node that sends more is faster than its network.
STRETCH = 0.002  # seconds for which messages are handled before other tasks run
FLUSH = 1.0  # seconds in which the last messages go out
SUBSCRIPTION = 1
# Errors after which the server keeps the connection, as it writes them in lower case.
HARMLESS = ("permissions violation", "invalid subject", "invalid publish subject")
# A server that ends, or that cuts a slow consumer, mostly gives no reason.
CLOSED = (
    "it has closed the connection, because it ends, or because this node reads too slowly (its log says Slow Consumer)"
)


class BusReceiver(Protocol):
    """The part of a transport that a connection calls."""

    def take(self, message: NatsMessage) -> None: ...
    def skip(self, message: Oversized) -> None: ...
    def learn(self, connection: BrokerConnection, info: Info) -> None: ...
    def explain(self, text: str) -> None:
        """Take an error of the server after which the connection goes on."""
        ...


class BrokerConnection:
    """An open connection to a server."""

    def __init__(self, server: BrokerServer, greeting: Greeting, receiver: BusReceiver) -> None:
        self.server = server
        self.info = greeting.info
        self.is_encrypted = greeting.is_encrypted
        self.leaving = trio.Event()  # set when it is lost, or the server is about to end
        self._stream = greeting.stream
        self._receiver = receiver
        self._pieces: list[bytes | memoryview] = []  # to be written
        self._buffered = 0  # bytes in `_pieces`, and in the write that is under way
        self._writer = trio.lowlevel.ParkingLot()  # the task that writes, while there is nothing to write
        self._heard_at = trio.current_time()
        self._pings: deque[tuple[float, trio.Event]] = deque()  # without an answer: when they were sent
        self.was_used = False  # the login has succeeded
        self._error = ""  # the last error of the server
        self._fault: ConnectionLost | None = None
        self._open = trio.CancelScope()

    async def run(self, options: Connect, subject: bytes, on_ready: Callable[[], None]) -> None:
        """Log in, subscribe, and call `on_ready`; then read and write until `close`. Raises ConnectionLost."""
        try:
            with self._open:
                async with trio.open_nursery() as nursery:
                    login = self.server.login.complete(options, self.info)
                    self.write([log_in(login), subscribe(subject, SUBSCRIPTION)])
                    answered = self._ping()
                    for work in (self._read, self._write, self._watch):
                        nursery.start_soon(self._until_lost, work)
                    await answered.wait()
                    self.was_used = True
                    on_ready()
        finally:
            self.leaving.set()
            await trio.aclose_forcefully(self._stream)
        if self._fault is not None:
            raise self._fault

    @property
    def has_room(self) -> bool:
        """True if it takes more to be written."""
        return self._buffered < MOST_BUFFERED

    def write(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Have something written soon."""
        if not self._pieces:
            self._writer.unpark()
        self._pieces += pieces
        self._buffered += sum(map(len, pieces))

    def close(self) -> None:
        """Have `run` return."""
        self._open.cancel()

    async def end(self) -> None:
        """Take no more messages, and wait until the server has read everything."""
        self.write([unsubscribe(SUBSCRIPTION)])
        answered = self._ping()
        with trio.move_on_after(FLUSH):
            await answered.wait()

    # The three tasks --------------------------------------------------------------------------------------------------

    async def _until_lost(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except ConnectionLost as fault:
            # The server says why it closes the connection before it does.
            self._fault = self._fault or (ConnectionLost(explained(self._error)) if self._error else fault)
            self.close()

    async def _read(self) -> None:
        parser = Parser()
        while data := await io(self._stream.receive_some, READ_AT_ONCE):
            self._heard_at = now = trio.current_time()
            try:
                operations = parser.feed(bytes(data))
            except ProtocolError as error:
                raise ConnectionLost(f"it sends what no server of NATS does: {error}") from error
            for operation in operations:
                if type(operation) is NatsMessage:
                    self._receiver.take(operation)
                else:
                    self._execute(operation)
                if trio.current_time() > now + STRETCH:
                    await trio.lowlevel.checkpoint()
                    self._heard_at = now = trio.current_time()  # it is this node that is slow
        raise ConnectionLost(CLOSED)

    def _execute(self, operation: Operation) -> None:
        match operation:
            case Signal.PING:
                if self.has_room:
                    self.write([PONG])
            case Signal.PONG:
                if self._pings:
                    self._pings.popleft()[1].set()
            case Info():
                self.info = check(operation)
                self._receiver.learn(self, operation)
                if operation.ldm:
                    self.leaving.set()
            case ServerError(text):
                if text.lower().startswith(HARMLESS):
                    self._receiver.explain(text)
                else:
                    self._error = text
            case Oversized():
                self._receiver.skip(operation)
            case _:
                pass

    async def _write(self) -> None:
        while True:
            if not self._pieces:
                await self._writer.park()
            pieces, self._pieces = self._pieces, []
            data = b"".join(pieces)
            await io(self._stream.send_all, data)
            self._buffered -= len(data)

    async def _watch(self) -> None:
        due = trio.current_time()
        while True:
            due += PING_EVERY
            await trio.sleep_until(due)
            now = trio.current_time()
            if now - due > PING_EVERY:  # this process stood still: what has come meanwhile is read first
                self._heard_at = due = now
            elif now - self._heard_at > SILENCE:
                raise ConnectionLost(f"it has not answered for {SILENCE:g} s")
            elif self._pings and now - self._pings[0][0] > LATEST_PONG:
                raise ConnectionLost(f"it has not read anything for {LATEST_PONG:g} s")
            self._ping()

    def _ping(self) -> trio.Event:
        """Send a PING. Return the event of its answer."""
        answered = trio.Event()
        self._pings.append((trio.current_time(), answered))
        self.write([PING])
        return answered

"""asyncpg's connection without asyncio: a statement waits for its answer in the socket, and not on the event loop.

The rest cost more than the statement itself did here: the futures of asyncio with their callbacks, and the layers of
asyncpg that look for a time limit and for listeners. asyncpg still handles statements, arguments and rows.

asyncpg's protocol does no I/O: it writes to a transport, and is given the bytes that arrive. Here both are calls of a
blocking socket. asyncio's own transport asks the kernel for events and runs a pass of the loop for each answer.
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from .scheduler import Outside

T = TypeVar("T")

ALL = 0  # rows that PostgreSQL is asked for
NO_TIMEOUT = None  # PostgreSQL itself ends statements that take too long

Wait = Callable[[], Awaitable[None] | None]


class DirectAnswer:
    """The future of an answer, which is received when it is awaited.

    It has the methods of `asyncio.Future` that asyncpg's protocol calls. Callbacks only stop the clock of a statement,
    which has no time limit here. `wait` returns what must be awaited before the answer can come, if anything.
    """

    __slots__ = ("_error", "_is_done", "_receive", "_value", "_wait")

    def __init__(self, receive: Callable[[], None], wait: Wait | None) -> None:
        self._receive = receive
        self._wait = wait
        self._is_done = False
        self._value: object = None
        self._error: BaseException | None = None

    def __await__(self) -> Generator[Any, None, Any]:
        while not self._is_done:
            if self._wait is not None and (waiting := self._wait()) is not None:
                yield from waiting.__await__()
            else:
                self._receive()
        if self._error is not None:
            raise self._error
        return self._value

    def add_done_callback(self, callback: Callable[..., object]) -> None:
        """Leave the callback out."""

    def done(self) -> bool:
        return self._is_done

    def cancelled(self) -> bool:
        return False

    def set_result(self, value: object) -> None:
        self._value, self._is_done = value, True

    def set_exception(self, error: BaseException) -> None:
        self._error, self._is_done = error, True


class DirectLoop(asyncio.SelectorEventLoop):
    """The loop of a connection. It answers directly as soon as it has the function that receives answers."""

    receive: Callable[[], None] | None = None
    wait: Wait | None = None

    @contextmanager
    def ordinary(self) -> Generator[None]:
        """Make the futures of asyncio in this block, for work that runs on the loop."""
        receive, self.receive = self.receive, None
        try:
            yield
        finally:
            self.receive = receive

    def run_forever(self) -> None:
        """Run. Raises RuntimeError outside of `ordinary`: the loop would wait for answers that are never handed out."""
        if self.receive is not None:
            raise RuntimeError("work that runs on a DirectLoop needs its `ordinary()` around it")
        super().run_forever()

    def create_future(self) -> Any:
        return super().create_future() if self.receive is None else DirectAnswer(self.receive, self.wait)


class DirectConnection:
    """The methods of asyncpg's connection that a piece of work may use."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._bind_execute = connection._protocol.bind_execute
        self._statements: dict[str, Any] = {}

    async def fetch(self, query: str, *args: object) -> list[Any]:
        statement = self._statements.get(query) or await self._prepare(query)
        return await self._bind_execute(statement, args, "", ALL, False, NO_TIMEOUT)

    async def fetchrow(self, query: str, *args: object) -> Any:
        statement = self._statements.get(query) or await self._prepare(query)
        rows = await self._bind_execute(statement, args, "", 1, False, NO_TIMEOUT)
        return rows[0] if rows else None

    async def fetchval(self, query: str, *args: object) -> Any:
        row = await self.fetchrow(query, *args)
        return None if row is None else row[0]

    async def execute(self, query: str, *args: object) -> str:
        if not args:
            return await self._connection.execute(query)
        statement = self._statements.get(query) or await self._prepare(query)
        _, status, _ = await self._bind_execute(statement, args, "", ALL, True, NO_TIMEOUT)
        return status.decode()

    async def close(self) -> None:
        await self._connection.close()

    async def _prepare(self, query: str) -> Any:
        """Prepare a statement for good: asyncpg closes forgotten statements only if they are not attached."""
        statement = await self._connection._get_statement(query, NO_TIMEOUT)
        statement.attach()
        self._statements[query] = statement
        return statement


MOST_BYTES = 1 << 18  # of an answer, that are received at once


class BlockingSocket:
    """The socket of a connection, after asyncio has opened it."""

    # Any: the parts of asyncpg's connection are not public.
    def __init__(self, connection: Any) -> None:
        transport = connection._transport
        self._protocol = connection._protocol
        self._socket: socket.socket = transport._sock
        self._socket.setblocking(True)
        self._owed = b""
        self._expected = b""
        transport.write = self._send

    def has_answer(self, seconds: float) -> bool:
        """True if bytes of PostgreSQL have arrived, or arrive within so many seconds."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def defer_answer(self, statements: Statements) -> None:
        """Send these statements together with the next message. Their answer comes with that of the message."""
        self._owed, self._expected = statements.request, statements.answer

    def receive(self) -> None:
        """Wait for bytes of PostgreSQL, and hand them to asyncpg."""
        data = self._socket.recv(MOST_BYTES)
        if not data:
            self._protocol.connection_lost(None)
            return
        if self._expected:
            data = self._without_expected(data)
        self._protocol.data_received(data)

    def _send(self, data: bytes | memoryview) -> None:
        if self._owed:
            data, self._owed = self._owed + data, b""
        self._socket.sendall(data)

    def _without_expected(self, data: bytes) -> bytes:
        expected, self._expected = self._expected, b""
        while len(data) < len(expected) and (more := self._socket.recv(MOST_BYTES)):
            data += more
        if not data.startswith(expected):
            raise ConnectionError(f"PostgreSQL has answered {data[:200]} in place of {expected}")
        return data[len(expected) :]


class Statements:
    """Prepared statements without parameters and rows, as a part of a message that asyncpg ends with its own."""

    def __init__(self, *tags: tuple[str, str]) -> None:
        """`tags` are the names of the statements, and PostgreSQL's command tags for them."""
        self.request = b"".join(_bound(name.encode()) for name, _ in tags)
        self.answer = b"".join(_completed(tag.encode()) for _, tag in tags)


class OpenedConnection:
    """A connection with its loop and its socket. asyncpg opens it on the loop, which `prepare` may still use."""

    def __init__(
        self, connecting: Coroutine[object, object, object], prepare: Callable[[Any], Coroutine[object, object, object]]
    ) -> None:
        self._loop = loop = DirectLoop()
        opened: Any = self.block(connecting)
        self._prepared = self.block(prepare(opened))  # statements are closed with their objects
        self.process: int = opened.get_server_pid()
        self.socket = BlockingSocket(opened)
        self.direct = DirectConnection(opened)
        loop.receive = self.socket.receive

    def wait_before_answers(self, wait: Wait) -> None:
        """Have each statement await what `wait` returns, before it waits for its answer in the socket."""
        self._loop.wait = wait

    def block(self, work: Coroutine[object, object, T]) -> T:
        """Run work of asyncio to its end while no other task runs."""
        with Outside(), self._loop.ordinary():
            return self._loop.run_until_complete(work)

    def close(self) -> None:
        self.block(self.direct.close())
        self._loop.close()


def at_once(work: Coroutine[object, None, T]) -> T:
    """Run statements to their end while no other task runs: each statement waits for its answer in the socket."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise RuntimeError("work that must be done at once has waited for something else than PostgreSQL")


def _bound(name: bytes) -> bytes:
    """Return Bind and Execute, for the portal without a name."""
    return _message(b"B", b"\0" + name + b"\0" + bytes(6)) + _message(b"E", bytes(5))


def _completed(tag: bytes) -> bytes:
    """Return BindComplete and CommandComplete."""
    return _message(b"2", b"") + _message(b"C", tag + b"\0")


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body

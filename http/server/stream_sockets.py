"""The sockets of streams. One task reads all of them and runs their timers.

A stream is idle for most of the time. A task that waits for it, with the objects of an HTTP request, holds five times
as much memory as the stream itself. So a connection hands its socket over when a stream begins on it
(`ClientConnection.hand_over`), and ends.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Protocol

import trio

from . import limits

READ_AT_ONCE = 16 * 1024  # bytes: clients of streams send little
SOCKETS_AT_ONCE = 256  # sockets that epoll returns between two checkpoints
# From all sockets between two checkpoints. A client can fill a read with thousands of the smallest frames.
READ_IN_A_TURN = 32 * 1024  # bytes
# A client makes progress when it takes this much.
PIECE = 8 * 1024  # bytes
RESET = struct.pack("ii", 1, 0)  # a struct linger: close without waiting for unsent bytes
GONE = select.EPOLLERR | select.EPOLLHUP


class StreamOwner(Protocol):
    """The object that a socket was handed over to. None of its methods may block."""

    def begin(self, socket: StreamSocket) -> None:
        """Called first, if the socket is still open. The owner may use it from now on."""
        ...

    def receive(self, data: bytes) -> None:
        """Called with bytes that the client has sent."""
        ...

    def progress(self) -> None:
        """Called when the client has taken sent bytes: `PIECE` of them, or all (then `is_full` is False)."""
        ...

    def look(self, now: float) -> float:
        """Handle the timers that are due. Return the time of the next timer, on Trio's clock."""
        ...

    def lost(self) -> None:
        """Called once when the connection is closed, also if `begin` was not called."""
        ...


class StreamSocket:
    """The socket of a stream. `send` never blocks: bytes that the client has not taken are buffered."""

    __slots__ = (
        "_events", "_is_closed", "_left", "_owner", "_rest", "_socket", "_sockets", "_taken", "_when_closed",
        "closes_at", "looks_at",
    )  # fmt: skip

    def __init__(
        self, sockets: StreamSockets, opened: socket.socket, owner: StreamOwner, when_closed: Callable[[], None]
    ) -> None:
        self._sockets = sockets
        self._socket = opened
        self._owner = owner
        self._when_closed = when_closed
        self._rest: bytes | memoryview = b""  # bytes that the client has not taken
        self._taken = 0  # bytes of `_rest`, since the last progress
        self._events = select.EPOLLIN
        self._is_closed = False
        self.closes_at = inf  # set by `finish`: until then the client may read the last bytes
        self.looks_at = inf

    @property
    def is_full(self) -> bool:
        """True if the client has not taken all that was sent."""
        return len(self._rest) > 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def begin(self) -> None:
        """Let the owner begin."""
        self._owner.begin(self)
        if not self._is_closed:
            self.look()

    def limit_buffer(self, size: int) -> None:
        """Limit the kernel's send buffer to `size` bytes. It would grow to megabytes."""
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > size:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)

    def send(self, data: bytes) -> None:
        """Send bytes after the buffered bytes. It raises no error: a connection that fails is closed soon."""
        if self._is_closed or self.closes_at < inf:
            return
        if self._rest:
            self._rest = b"%b%b" % (self._rest, data)
            return
        written = self._write(data)
        if written < len(data):
            self._rest, self._taken = memoryview(data)[written:], 0
            self._wait_for(select.EPOLLIN * self.is_reading | select.EPOLLOUT)

    @property
    def is_reading(self) -> bool:
        return bool(self._events & select.EPOLLIN)

    def set_reading(self, reads: bool) -> None:
        """Read the client's bytes, or leave them in the kernel for now."""
        if not self._is_closed:
            self._wait_for(select.EPOLLIN * reads | self._events & select.EPOLLOUT)

    def start(self, work: Callable[[], Awaitable[object]]) -> None:
        """Start a task, for work that blocks."""
        self._sockets.start(work)

    def look_by(self, at: float) -> None:
        """Call the owner's `look` at this time or earlier."""
        if at < self.looks_at and not self._is_closed:
            self.looks_at = at
            self._sockets.look_at(at, self)

    def look(self) -> None:
        """Call the owner's `look`, or close if it is time."""
        self.looks_at = inf
        now = trio.current_time()
        if now >= self.closes_at:
            self.reset() if self._rest else self.close()
        else:
            self.look_by(min(self._owner.look(now), self.closes_at))

    def finish(self, data: bytes) -> None:
        """Send the last bytes. Close when the client closes, or after `limits.CLOSE` seconds."""
        self.send(data)
        if not self._is_closed and self.closes_at == inf:
            self.closes_at = trio.current_time() + limits.CLOSE
            if not self._rest:
                self._end_output()
            self.set_reading(True)
            self.look_by(self.closes_at)

    def reset(self) -> None:
        """Close at once with a reset. Otherwise the kernel would keep unsent bytes for minutes."""
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.close()

    def close(self) -> None:
        """Close the connection, and notify the owner."""
        if self._is_closed:
            return
        self._is_closed = True
        self._rest = b""
        self._sockets.forget(self)
        self._socket.close()
        try:
            self._owner.lost()
        finally:
            self._when_closed()

    def close_if_idle(self) -> None:
        """Do nothing: a stream is never idle. It ends by itself when the server stops."""

    abort = reset

    def happen(self, events: int) -> int:
        """Called when the socket is readable or writable, or is gone. An error here ends no other stream.

        Return how many bytes were read.
        """
        try:
            if events & select.EPOLLOUT and self._rest:
                self._send_rest()
            if events & select.EPOLLIN and not self._is_closed:
                return self._read()
            if events & GONE:
                self.close()
        except Exception:
            logging.getLogger("hypercorn.error").exception("A stream failed")
            self.reset()
        return 0

    def take(self, data: bytes) -> None:
        """Pass received bytes to the owner, unless the connection is closing."""
        if not self._is_closed and self.closes_at == inf:
            self._owner.receive(data)

    def _read(self) -> int:
        try:
            data = os.read(self._socket.fileno(), READ_AT_ONCE)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        self.take(data) if data else self.close()
        return len(data)

    def _send_rest(self) -> None:
        written = self._write(self._rest)
        self._taken += written
        self._rest = memoryview(self._rest)[written:]
        if self._rest:
            if self._taken >= PIECE:
                self._taken = 0
                self._owner.progress()
            return
        self._rest = b""
        self._wait_for(self._events & select.EPOLLIN)
        if self.closes_at < inf:
            self._end_output()
        else:
            self._owner.progress()

    def _write(self, data: bytes | memoryview) -> int:
        """Write as much as the kernel takes. Return the number of bytes; all of them after an error, which closes."""
        try:
            return os.write(self._socket.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError:
            self.closes_at = 0.0
            self.look_by(0.0)
            return len(data)

    def _end_output(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def _wait_for(self, events: int) -> None:
        if events != self._events:
            self._events = events
            self._sockets.wait_for(self, events)


class StreamSockets:
    """The sockets of all streams of a server."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._open: dict[int, StreamSocket] = {}
        self._times: list[tuple[float, int, StreamSocket]] = []  # a heap of timers
        self._numbers = count()
        self._sleep = trio.CancelScope()
        self._nursery: trio.Nursery | None = None

    def add(self, opened: StreamSocket) -> None:
        """Read a socket from now on, and call the owner's `begin`."""
        if self._epoll.closed:
            opened.reset()
            return
        self._open[opened.fileno()] = opened
        self._epoll.register(opened.fileno(), select.EPOLLIN)
        opened.begin()

    def forget(self, closed: StreamSocket) -> None:
        """Stop reading a socket. Its timer stays in the heap until it is due."""
        if self._open.pop(closed.fileno(), None) is not None:
            self._epoll.unregister(closed.fileno())

    def wait_for(self, opened: StreamSocket, events: int) -> None:
        self._epoll.modify(opened.fileno(), events)

    def look_at(self, at: float, opened: StreamSocket) -> None:
        heappush(self._times, (at, next(self._numbers), opened))
        self._sleep.deadline = min(self._sleep.deadline, at)

    def start(self, work: Callable[[], Awaitable[object]]) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(work)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve all streams until this is cancelled. Then close the open streams."""
        try:
            async with trio.open_nursery() as self._nursery:
                task_status.started()
                while True:
                    self._look(trio.current_time())
                    with trio.CancelScope(deadline=self._times[0][0] if self._times else inf) as self._sleep:
                        await trio.lowlevel.wait_readable(self._epoll.fileno())
                    self.serve_ready()
        finally:
            for opened in list(self._open.values()):
                opened.reset()
            self._epoll.close()

    def serve_ready(self) -> None:
        """Read and write the sockets that are ready. epoll returns the rest next time, before other sockets."""
        left = READ_IN_A_TURN
        for descriptor, events in self._epoll.poll(0, SOCKETS_AT_ONCE):
            if (found := self._open.get(descriptor)) is not None:
                left -= found.happen(events)
            if left <= 0:
                return

    def _look(self, now: float) -> None:
        while self._times and self._times[0][0] <= now:
            at, _, opened = heappop(self._times)
            if at == opened.looks_at:
                opened.look()

"""The sockets of streams, without a task for each: one task reads them all, and keeps their times.

A stream has nothing to do for most of the time. A task that waits for it, with all that belongs to an HTTP request,
holds five times as much memory as the stream itself. So a connection hands its socket over when a stream begins on it
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
SOCKETS_AT_ONCE = 256  # those that epoll tells of between two turns of the loop
# Of all sockets between two turns of the loop. A client can fill a read with thousands of the smallest frames.
READ_IN_A_TURN = 32 * 1024  # bytes
# A client that takes less than this at a time has made no progress.
PIECE = 8 * 1024
RESET = struct.pack("ii", 1, 0)  # a struct linger: no waiting for what has not arrived
GONE = select.EPOLLERR | select.EPOLLHUP


class StreamOwner(Protocol):
    """The object that a socket was handed over to. None of this may wait."""

    def begin(self, socket: StreamSocket) -> None:
        """Called first, if the socket is still open. From now on it may be used."""
        ...

    def receive(self, data: bytes) -> None:
        """The client has sent this."""
        ...

    def progress(self) -> None:
        """The client has taken a piece of what was sent; `is_full` says if all of it."""
        ...

    def look(self, now: float) -> float:
        """Do what is due. Return when to look again, on Trio's clock."""
        ...

    def lost(self) -> None:
        """The connection is closed. Called once, also if it was closed before it could begin."""
        ...


class StreamSocket:
    """The socket of one stream. Nothing that is sent waits: what the client does not take is kept until it does."""

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
        self._rest: bytes | memoryview = b""  # what the client has not taken
        self._taken = 0  # of it, since the last progress
        self._events = select.EPOLLIN
        self._is_closed = False
        self.closes_at = inf  # once all is said: until then the client may read it
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
        """Leave at most so many bytes in the kernel's buffer, which otherwise takes megabytes."""
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > size:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)

    def send(self, data: bytes) -> None:
        """Send, after what the client has not taken yet. It raises no error: a connection that fails is closed soon."""
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
        """Read what the client sends, or leave it in the kernel for now."""
        if not self._is_closed:
            self._wait_for(select.EPOLLIN * reads | self._events & select.EPOLLOUT)

    def start(self, work: Callable[[], Awaitable[object]]) -> None:
        """Start a task, for what has to wait."""
        self._sockets.start(work)

    def look_by(self, at: float) -> None:
        """Have the owner look at the stream at this time, or earlier."""
        if at < self.looks_at and not self._is_closed:
            self.looks_at = at
            self._sockets.look_at(at, self)

    def look(self) -> None:
        """Have the owner do what is due."""
        self.looks_at = inf
        now = trio.current_time()
        if now >= self.closes_at:
            self.reset() if self._rest else self.close()
        else:
            self.look_by(min(self._owner.look(now), self.closes_at))

    def finish(self, data: bytes) -> None:
        """Send the last bytes. Close when the client has read them and closes too, or a moment later."""
        self.send(data)
        if not self._is_closed and self.closes_at == inf:
            self.closes_at = trio.current_time() + limits.CLOSE
            if not self._rest:
                self._end_output()
            self.set_reading(True)
            self.look_by(self.closes_at)

    def reset(self) -> None:
        """Close at once. The kernel would keep unsent bytes for minutes, so it is told not to."""
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.close()

    def close(self) -> None:
        """Close the connection, and tell the owner."""
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
        """Take what the client has sent."""
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
        """Write what the kernel takes. After an error nothing is: the connection is closed soon."""
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
        self._times: list[tuple[float, int, StreamSocket]] = []  # a heap: when to look at which
        self._numbers = count()
        self._sleep = trio.CancelScope()
        self._nursery: trio.Nursery | None = None

    def add(self, opened: StreamSocket) -> None:
        """Read a socket from now on, and let its owner begin."""
        if self._epoll.closed:
            opened.reset()
            return
        self._open[opened.fileno()] = opened
        self._epoll.register(opened.fileno(), select.EPOLLIN)
        opened.begin()

    def forget(self, closed: StreamSocket) -> None:
        """Wait for a socket no longer. Its times are passed over."""
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
        """Serve all streams until this is cancelled. Those that are open then are closed."""
        try:
            async with trio.open_nursery() as self._nursery:
                task_status.started()
                while True:
                    self._look(trio.current_time())
                    with trio.CancelScope(deadline=self._times[0][0] if self._times else inf) as self._sleep:
                        await trio.lowlevel.wait_readable(self._epoll.fileno())
                    self.serve_ready()
        finally:
            for one in list(self._open.values()):
                one.reset()
            self._epoll.close()

    def serve_ready(self) -> None:
        """Read and write the sockets that are ready. epoll tells of the rest again, and of those before the others."""
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

"""Writes events to the sockets of streaming clients, and detects clients that do not read.

A client reads if the kernel accepts more bytes for it. A client that accepts nothing for `UNREAD_SECONDS` is
disconnected. A slow client is sent the next events when it has accepted the previous events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf

import trio

from ..access.context import HttpContext
from ..access.streams import StreamEnd
from ..asgi import Message, Send
from ..server.stream_sockets import StreamSocket
from .admission import dismiss
from .connection import Wire
from .session import StreamSession

# Seconds in which a client has to accept some of the sent bytes.
UNREAD_SECONDS = 20.0
# Bytes of the kernel's send buffer for a stream. Its default would be megabytes for a client that never reads.
KERNEL_BUFFER = 64 * 1024


class DirectStream(ABC):
    """The owner of a stream's socket. It replaces the tasks of the request when the stream has begun."""

    __slots__ = ("_context", "_ends_by", "_head", "_keep_alive_at", "_session", "_socket", "_unread_at", "_wire")

    def __init__(self, context: HttpContext, session: StreamSession, wire: Wire, head: bytes) -> None:
        self._context = context
        self._session = session
        self._wire = wire
        self._head = head  # of the answer
        self._socket: StreamSocket | None = None
        self._keep_alive_at = inf
        self._ends_by = inf
        self._unread_at = inf  # the time at which a client that accepts nothing is disconnected

    @abstractmethod
    def first_keep_alive(self, now: float) -> float:
        """Return when `keep_alive` is called for the first time."""

    @abstractmethod
    def keep_alive(self, socket: StreamSocket, now: float) -> float:
        """Send a ping or a heartbeat. Return the time of the next call."""

    @abstractmethod
    def closing_bytes(self, why: StreamEnd) -> bytes:
        """Return the last bytes of the stream."""

    # -- called by the socket

    def begin(self, socket: StreamSocket) -> None:
        self._socket = socket
        socket.limit_buffer(KERNEL_BUFFER)
        socket.send(self._head)
        self._head = b""
        self._keep_alive_at = self.first_keep_alive(trio.current_time())
        self._session.attach(self, self._context.pump)

    def progress(self) -> None:
        if self.is_full:
            self._unread_at = trio.current_time() + UNREAD_SECONDS
            self._session.made_progress()
        else:
            self._unread_at = inf
            self._session.go_on()

    def look(self, now: float) -> float:
        socket = self._socket
        if socket is None:
            return inf
        if now >= self._unread_at:
            self._session.fail(StreamEnd.SLOW, f"the client has read nothing for {UNREAD_SECONDS:g} s")
            socket.reset()
        elif now >= self._ends_by:
            socket.reset()
        elif now >= self._keep_alive_at:
            self._keep_alive_at = self.keep_alive(socket, now)
        return min(self._unread_at, self._ends_by, self._keep_alive_at)

    def lost(self) -> None:
        self._socket = None
        dismiss(self._context, self._session)

    # -- called by the session

    @property
    def is_full(self) -> bool:
        return self._socket is not None and self._socket.is_full

    def send_now(self, frames: list[bytes]) -> None:
        socket = self._socket
        if socket is None:
            return
        socket.send(self._wire.of(frames))
        if socket.is_full:
            self._unread_at = trio.current_time() + UNREAD_SECONDS
            socket.look_by(self._unread_at)

    def finish(self, why: StreamEnd) -> None:
        if self._socket is not None:
            self._ends_by = self._keep_alive_at = inf
            self._socket.finish(self.closing_bytes(why))

    def end_by(self, at: float) -> None:
        self._ends_by = at
        if self._socket is not None:
            self._socket.look_by(at)


async def send_by_server(session: StreamSession, send: Send, message: Message) -> None:
    """Send a message through hypercorn, for a stream that was not handed over.

    If the client does not accept the message in time, the session ends.
    """
    timeout = trio.move_on_after(UNREAD_SECONDS)
    try:
        with session.sending(), timeout:
            await send(message)
    finally:  # a cancelled write ends its connection, and so this task
        if timeout.cancel_called:
            session.fail(StreamEnd.SLOW, f"the client has read nothing for {UNREAD_SECONDS:g} s")

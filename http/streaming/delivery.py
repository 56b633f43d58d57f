"""Sending to a streaming client, and detecting one that does not read.

A client reads if the kernel accepts more bytes for it. A client that accepts nothing for `UNREAD_SECONDS` is
disconnected. A slow one is sent the next events when it has accepted the ones before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from ..access.streams import End
from .connection import StreamConnection, Wire
from .session import Session

T = TypeVar("T")

# Seconds in which a client has to take a piece of what it is sent.
UNREAD_SECONDS = 20.0
# A client that takes less than this in that time does not read.
PIECE = 8 * 1024
# The kernel's buffer for one stream. By default it takes megabytes for a client that never reads.
KERNEL_BUFFER = 64 * 1024


class DirectOutlet:
    """The connection of one stream. Nearly always the kernel takes at once what is sent."""

    __slots__ = ("_connection", "_rest", "_wire")

    def __init__(self, connection: StreamConnection, wire: Wire) -> None:
        self._connection = connection
        self._wire = wire
        self._rest: memoryview | None = None

    @property
    def is_full(self) -> bool:
        return self._rest is not None

    def send_now(self, frames: list[bytes]) -> None:
        self._rest = self._connection.write_now(self._wire.of(frames))

    async def send_rest(self, session: Session) -> None:
        """Send what the client did not take. If it takes nothing for too long, the session ends."""
        left = self._rest or memoryview(b"")
        try:
            with session.sending():
                for start in range(0, len(left), PIECE):
                    if not await _is_taken(session, self._connection.write, left[start : start + PIECE]):
                        break
                    session.made_progress()
                    self._connection.reset_read_timeout()
        finally:
            self._rest = None
            self._connection.end_message()


async def deliver_by_server(session: Session, send: Callable[[object], Awaitable[None]], message: object) -> None:
    """Send a message through the HTTP server, for requests without a direct connection."""
    with session.sending():
        await _is_taken(session, send, message)


async def _is_taken(session: Session, send: Callable[[T], Awaitable[None]], data: T) -> bool:
    """Send. Return False if the client did not accept it in time; then the session has ended."""
    timeout = trio.move_on_after(UNREAD_SECONDS)
    try:
        with timeout:
            await send(data)
    finally:  # a write that is cancelled ends its connection, and with it this task
        if timeout.cancel_called:
            session.fail(End.SLOW, f"the client has read nothing for {UNREAD_SECONDS:g} s")
    return not timeout.cancel_called

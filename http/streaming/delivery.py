"""Sending to a streaming client, and detecting one that does not read.

A client reads if the kernel accepts more bytes for it. A client that accepts nothing for `UNREAD_SECONDS` is
disconnected. A slow one is sent the next events when it has accepted the ones before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from ..access.streams import End
from .session import Session
from .wire import Wire

T = TypeVar("T")

# Seconds in which a client has to take a piece of what it is sent.
UNREAD_SECONDS = 20.0
# A client that takes less than this in that time does not read.
PIECE = 8 * 1024
# The kernel's buffer for one stream. By default it takes megabytes for a client that never reads.
KERNEL_BUFFER = 64 * 1024


async def deliver(session: Session, wire: Wire, data: bytes) -> None:
    """Write frames to a connection; nearly always the kernel takes them at once."""
    left = wire.write_now(data)
    if left:
        with session.sending():
            for start in range(0, len(left), PIECE):
                if not await _is_taken(session, wire.write, left[start : start + PIECE]):
                    return
                session.made_progress()
                wire.hear()


async def deliver_by_server(session: Session, send: Callable[[object], Awaitable[None]], message: object) -> None:
    """The same through the HTTP server, for connections that have no wire."""
    with session.sending():
        await _is_taken(session, send, message)


async def _is_taken(session: Session, send: Callable[[T], Awaitable[None]], data: T) -> bool:
    """Send. Return False if the client did not accept it in time; then the session has ended."""
    patience = trio.move_on_after(UNREAD_SECONDS)
    try:
        with patience:
            await send(data)
    finally:  # a write that is cancelled ends its connection, and with it this task
        if patience.cancel_called:
            session.fail(End.SLOW, f"the client has read nothing for {UNREAD_SECONDS:g} s")
    return not patience.cancel_called

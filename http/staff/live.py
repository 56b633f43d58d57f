"""Live parts of pages for staff: they are sent again when they change, as server-sent events.

A part is HTML from a template that the page includes too. `pages/staff.js` replaces it in the page. Without JavaScript
a page does not change after it is loaded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import trio

from ...actors.rules.roles import Permission
from ...storage.engine.database import StorageError
from ...storage.oauth import Token
from ..access.streams import StreamEnd, StreamSnapshot
from ..answers.answer import Answer
from ..answers.errors import HttpError, TooMany
from .member import StaffMember, staff_member

# Seconds between two renderings. A part is only sent if it has changed.
PAUSE = 2.0
EVENTS = "text/event-stream; charset=utf-8"
# A comment, by which the client and this server detect a broken connection.
NOTHING_NEW = b":\n\n"

Render = Callable[[], Awaitable[bytes]]


class LiveStream:
    """An open stream of a page. It ends when the server stops."""

    token: Token | None = None  # pages have sessions in place of tokens

    def __init__(self, account_id: int, path: str, request_id: str, address: str) -> None:
        self.address = address
        self._account_id = account_id
        self._path = path
        self._request_id = request_id
        self._opened_at = trio.current_time()
        self._ended = trio.Event()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def end(self, why: StreamEnd) -> None:
        self._ended.set()

    def resume(self) -> None:
        """Do nothing: parts of pages are made from rows, so the stream is not paused."""

    def snapshot(self, now: float) -> StreamSnapshot:
        """Return the stream as operators see it. It has no feed, so it is never behind."""
        return StreamSnapshot(self._account_id, (self._path,), self._request_id, now - self._opened_at, 0, 0.0)

    async def pause(self) -> None:
        """Wait until the next rendering, or until the end."""
        with trio.move_on_after(PAUSE):
            await self._ended.wait()


def live(me: StaffMember, permission: Permission, render: Render) -> Answer:
    """Return the stream of a part. It ends with the member's session or permission. Raises TooMany."""
    if me.request.method == "HEAD":
        return Answer(content_type=EVENTS)
    me.context.live_pages.check(me.user.account_id)
    return Answer(content_type=EVENTS, stream=lambda: _events(me, permission, render))


async def _events(me: StaffMember, permission: Permission, render: Render) -> AsyncIterator[bytes]:
    context, request = me.context, me.request
    stream = LiveStream(
        me.user.account_id, request.path, request.request_id, request.address(context.settings.trusted_proxies)
    )
    try:
        # Checked again: other requests may have passed the check of `live` before their streams began.
        with context.live_pages.opened(me.user.account_id):
            context.streams.add(stream)
            shown = b""
            while not stream.ended and await _may_go_on(me, permission):
                part = await _rendered(render)
                yield NOTHING_NEW if part in (None, shown) else _event(part or b"")
                shown = shown if part is None else part
                await stream.pause()
    except TooMany:
        return
    finally:
        context.streams.remove(stream)


async def _may_go_on(me: StaffMember, permission: Permission) -> bool:
    """True if the member is still signed in and has the permission, or if the database does not answer."""
    try:
        await staff_member(me.context, me.request, permission)
    except HttpError:
        return False
    except StorageError:
        return True
    return True


async def _rendered(render: Render) -> bytes | None:
    """Return the part; None if the database does not answer."""
    try:
        return await render()
    except StorageError:
        return None


def _event(part: bytes) -> bytes:
    return b"".join(b"data: %b\n" % line for line in part.splitlines()) + b"\n"

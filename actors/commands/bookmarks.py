"""Bookmarks, in the turn of the account that has them. Nobody else hears of them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import bookmarks, statuses
from ...storage.engine import Connection
from ..account import Account
from ..kernel import Refused, turn
from .interacting import original_of
from .statuses import NOT_FOUND, find_original


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Command: bookmark a status, or what it boosts; a repeat is harmless."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Unbookmark:
    """Command: take a bookmark out, also of what is hidden by now."""

    status_id: int


@turn(Account, Bookmark)
async def bookmark(self: Account, message: Bookmark) -> Refused | None:
    status = await find_original(self, message.status_id)
    if status is None or not await self.transact(_bookmark, self, status.id):
        return NOT_FOUND
    self.mark(status.id, bookmarked=True)
    return None


async def _bookmark(db: Connection, self: Account, status_id: int) -> bool:
    """Whether the status is still there."""
    if not await statuses.hold(db, status_id):
        return False
    await bookmarks.insert(db, self.backstage.ids.next(), self.id, status_id, self.now)
    return True


@turn(Account, Unbookmark)
async def unbookmark(self: Account, message: Unbookmark) -> None:
    status_id = await original_of(self, message.status_id)
    await self.transact(bookmarks.delete, self.id, status_id)
    self.mark(status_id, bookmarked=False)

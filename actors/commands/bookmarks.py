"""Bookmarks, in the turn of the account that owns them. No other account is told of them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import bookmarks, statuses
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..facts import MarkedStatus
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from .interacting import original_of
from .statuses import find_original


@dataclass(frozen=True, slots=True)
class Bookmark(Message[None]):
    """Command: bookmark a status, or the original of a boost. A repeat changes nothing."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Unbookmark(Message[None]):
    """Command: remove a bookmark, also from a status that is hidden by now."""

    status_id: int


@turn(AccountActor, Bookmark)
async def bookmark(account: AccountActor, message: Bookmark) -> Refused | None:
    status = await find_original(account, message.status_id)
    if status is None or not await account.transact(_bookmark, account, status.id):
        return NOT_FOUND
    return await account.publish(MarkedStatus(account.id, status.id, bookmarked=True))


async def _bookmark(db: Connection, account: AccountActor, status_id: int) -> bool:
    """Store a bookmark. False if the status is gone."""
    if not await statuses.hold(db, status_id):
        return False
    await bookmarks.insert(db, account.context.ids.next(), account.id, status_id, account.now)
    return True


@turn(AccountActor, Unbookmark)
async def unbookmark(account: AccountActor, message: Unbookmark) -> None:
    status_id = await original_of(account, message.status_id)
    await account.transact(bookmarks.delete, account.id, status_id)
    await account.publish(MarkedStatus(account.id, status_id, bookmarked=False))

"""Bookmarks, in the turn of the account that owns them. No other account is notified."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import bookmarks, statuses
from ..account import AccountActor, AccountChange
from ..facts.marks import MarkedStatus
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from .interacting import original_of
from .statuses import find_original


@dataclass(frozen=True, slots=True)
class Bookmark(Command[None]):
    """Command: bookmark a status, or the original of a boost. A repeat changes nothing."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Unbookmark(Command[None]):
    """Command: remove a bookmark, also from a status that is hidden by now."""

    status_id: int


@turn(AccountActor, Bookmark)
async def bookmark(account: AccountActor, message: Bookmark) -> Refused | None:
    status = await find_original(account, message.status_id)
    return NOT_FOUND if status is None else await account.change(_bookmark, status.id)


async def _bookmark(change: AccountChange, status_id: int) -> Refused | None:
    if not await statuses.hold(change.db, status_id):
        return NOT_FOUND
    await bookmarks.insert(change.db, change.ids.next(), change.account.id, status_id, change.now)
    change.publish(MarkedStatus(change.account.id, status_id, bookmarked=True))
    return None


@turn(AccountActor, Unbookmark)
async def unbookmark(account: AccountActor, message: Unbookmark) -> None:
    await account.change(_unbookmark, await original_of(account, message.status_id))


async def _unbookmark(change: AccountChange, status_id: int) -> None:
    await bookmarks.delete(change.db, change.account.id, status_id)
    change.publish(MarkedStatus(change.account.id, status_id, bookmarked=False))

"""Favourites, in the turn of the account that has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import favourites, notifications
from ...storage.engine import Connection
from ...storage.notifications import NewNotification
from ...storage.statuses import Status
from ..account import Account
from ..kernel import Origin, Refused, turn
from .interacting import Kept, admit, original_of, promise, settle
from .statuses import NOT_FOUND, find_original


@dataclass(frozen=True, slots=True)
class Favourite:
    """Command: favourite a status, or what it boosts; a repeat is harmless."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Unfavourite:
    """Command: take a favourite back, also of what is hidden by now."""

    status_id: int


@turn(Account, Favourite)
async def favourite(self: Account, message: Favourite) -> Refused | None:
    status = await find_original(self, message.status_id)
    if status is None:
        return NOT_FOUND
    kept = await self.transact(_favourite, self, status, self.now, self.origin)
    if isinstance(kept, Refused):
        return kept
    self.mark(status.id, favourited=True)
    await settle(self, status.id, kept)
    return None


async def _favourite(db: Connection, self: Account, status: Status, now: datetime, origin: Origin) -> Kept | Refused:
    if (refusal := await admit(db, self, status)) is not None:
        return refusal
    ids = self.backstage.ids
    if not await favourites.insert(db, ids.next(), self.id, status.id, now):
        return Kept()
    new = NewNotification(ids.next(), status.account_id, self.id, "favourite", status.id)
    told = await notifications.insert_many(db, [new], now)
    return Kept(told, await promise(db, self, status.id, told, origin))


@turn(Account, Unfavourite)
async def unfavourite(self: Account, message: Unfavourite) -> None:
    status_id = await original_of(self, message.status_id)
    kept = await self.transact(_unfavourite, self, status_id, self.origin)
    self.mark(status_id, favourited=False)
    await settle(self, status_id, kept)


async def _unfavourite(db: Connection, self: Account, status_id: int, origin: Origin) -> Kept:
    if not await favourites.delete(db, self.id, status_id):
        return Kept()
    await notifications.withdraw_from(db, self.id, "favourite", status_id)
    return Kept([], await promise(db, self, status_id, [], origin))

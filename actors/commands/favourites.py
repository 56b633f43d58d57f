"""Favourites, in the turn of the account that owns them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import favourites, notifications
from ...storage.federation import tombstones
from ...storage.notifications import NewNotification
from ...storage.statuses import Status
from ..account import AccountActor, AccountChange
from ..facts.marks import MarkedStatus
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..sending.interactions import send_like, send_unlike
from .interacting import admit, original_of, undone
from .statuses import find_original


@dataclass(frozen=True, slots=True)
class Favourite(Command[None]):
    """Command: favourite a status, or the original of a boost.

    The favourite of an account of another server has a `uri`. A repeat changes only the `uri`,
    because an Undo names the latest URI.
    """

    status_id: int
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Unfavourite(Command[None]):
    """Command: remove a favourite, also from a status that is hidden by now."""

    status_id: int


@turn(AccountActor, Favourite)
async def favourite(account: AccountActor, message: Favourite) -> Refused | None:
    status = await find_original(account, message.status_id)
    if status is None:
        return NOT_FOUND
    return await account.change(_favourite, status, message.uri)


async def _favourite(change: AccountChange, status: Status, uri: str | None) -> Refused | None:
    db, account = change.db, change.account
    if await undone(change, uri):
        return NOT_FOUND
    if (refusal := await admit(change, status)) is not None:
        return refusal
    change.publish(MarkedStatus(account.id, status.id, favourited=True))
    id = change.ids.next()
    uri = await tombstones.unused(db, uri)
    if await favourites.insert(db, id, account.id, status.id, change.now, uri):
        change.count_again(status.id)
        await change.notify(NewNotification(change.ids.next(), status.account_id, account.id, "favourite", status.id))
        change.promise(*await send_like(db, account, id, status))
    elif uri is not None:
        await favourites.rename(db, account.id, status.id, uri)
    return None


@turn(AccountActor, Unfavourite)
async def unfavourite(account: AccountActor, message: Unfavourite) -> None:
    status_id = await original_of(account, message.status_id)
    status = await account.context.statuses.find(status_id)
    await account.change(_unfavourite, status_id, status)


async def _unfavourite(change: AccountChange, status_id: int, status: Status | None) -> None:
    db, account = change.db, change.account
    change.publish(MarkedStatus(account.id, status_id, favourited=False))
    if (id := await favourites.delete(db, account.id, status_id)) is not None:
        change.count_again(status_id)
        await notifications.withdraw_from(db, account.id, "favourite", status_id)
        change.promise(*await send_unlike(db, account, id, status))

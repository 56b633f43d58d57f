"""Favourites, in the turn of the account that owns them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import favourites, notifications, tombstones
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification
from ...storage.statuses import Status
from ..account import AccountActor
from ..facts import MarkedStatus
from ..kernel import Message, Origin, Refused, turn
from ..refusals import NOT_FOUND
from ..sending.interactions import send_like, send_unlike
from .interacting import Interaction, admit, original_of, promise
from .statuses import find_original
from .undoing import undone


@dataclass(frozen=True, slots=True)
class Favourite(Message[None]):
    """Command: favourite a status, or the original of a boost. A repeat changes nothing.

    The favourite of an account of another server has a `uri`.
    """

    status_id: int
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Unfavourite(Message[None]):
    """Command: remove a favourite, also from a status that is hidden by now."""

    status_id: int


@turn(AccountActor, Favourite)
async def favourite(account: AccountActor, message: Favourite) -> Refused | None:
    status = await find_original(account, message.status_id)
    if status is None:
        return NOT_FOUND
    kept = await account.transact(_favourite, account, status, message.uri, account.now, account.origin)
    if isinstance(kept, Refused):
        return kept
    marked = MarkedStatus(account.id, status.id, favourited=True)
    await account.publish(marked, *kept.facts_about(status.id), promised=kept.promised)
    return None


async def _favourite(
    db: Connection, account: AccountActor, status: Status, uri: str | None, now: datetime, origin: Origin
) -> Interaction | Refused:
    if await undone(db, account, uri, now):
        return NOT_FOUND
    if (refusal := await admit(db, account, status)) is not None:
        return refusal
    ids = account.context.ids
    id = ids.next()
    if not await favourites.insert(db, id, account.id, status.id, now, await tombstones.unused(db, uri)):
        return Interaction()
    new = NewNotification(ids.next(), status.account_id, account.id, "favourite", status.id)
    told = await notifications.insert_many(db, [new], now)
    sent = await send_like(db, account, id, status)
    return Interaction(told, await promise(db, account, status.id, told, origin, sent))


@turn(AccountActor, Unfavourite)
async def unfavourite(account: AccountActor, message: Unfavourite) -> None:
    status_id = await original_of(account, message.status_id)
    status = await account.context.statuses.find(status_id)
    kept = await account.transact(_unfavourite, account, status_id, status, account.origin)
    marked = MarkedStatus(account.id, status_id, favourited=False)
    await account.publish(marked, *kept.facts_about(status_id), promised=kept.promised)


async def _unfavourite(
    db: Connection, account: AccountActor, status_id: int, status: Status | None, origin: Origin
) -> Interaction:
    if (id := await favourites.delete(db, account.id, status_id)) is None:
        return Interaction()
    await notifications.withdraw_from(db, account.id, "favourite", status_id)
    sent = await send_unlike(db, account, id, status)
    return Interaction([], await promise(db, account, status_id, [], origin, sent))

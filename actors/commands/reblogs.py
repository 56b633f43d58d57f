"""Boosts, in the turn of the account that boosts. A boost is a status of its own that refers to the original."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ...storage import notifications, remote_statuses, statuses
from ...storage.deletions import Deleted
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification, Notification
from ...storage.statuses import NewStatus, Status
from ..account import AccountActor
from ..effects.notifications import notifications_added
from ..effects.statuses import counts_changed, status_changed
from ..facts import (
    AddedNotifications,
    ChangedAccount,
    ChangedStatus,
    DeletedStatus,
    MarkedStatus,
    PublishedStatus,
    UnmarkedStatus,
)
from ..kernel import Message, Origin, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..sending.statuses import send_boost
from .interacting import admit, original_of
from .statuses import DeleteStatus, choose_visibility, delete, find_original
from .undoing import undone


@dataclass(frozen=True, slots=True)
class Reblog(Message[int]):
    """Command: boost a status. The answer is the id of the boost, the same one for a repeat.

    The boost of an account of another server has a `uri`, and the time when it was made.
    """

    status_id: int
    visibility: str | None = None
    uri: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unreblog(Message[int]):
    """Command: remove a boost, also of a status that is hidden by now. The answer is the id of the original."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Boosted:
    """The outcome of the transaction. `promised` is empty if the boost existed."""

    id: int
    told: list[Notification] = field(default_factory=list[Notification])
    promised: list[int] = field(default_factory=list[int])


@turn(AccountActor, Reblog)
async def reblog(account: AccountActor, message: Reblog) -> int | Refused:
    original = await find_original(account, message.status_id)
    if original is None:
        return NOT_FOUND
    if not _may_be_boosted(original, account.id):
        return NOT_ALLOWED
    new = await _compose(account, original, message)
    boosted = await account.transact(_reblog, account, original, new, account.now, account.origin)
    if isinstance(boosted, Refused):
        return boosted
    if boosted.promised:
        await account.publish(
            ChangedStatus(original.id), ChangedAccount(account.id),
            MarkedStatus(account.id, original.id, reblogged=True),
            UnmarkedStatus(account.id, boosted.id), PublishedStatus(boosted.id), AddedNotifications(boosted.told),
            promised=boosted.promised,
        )  # fmt: skip
    return boosted.id


def _may_be_boosted(status: Status, by: int) -> bool:
    """True unless the status is direct, or private and of another account."""
    return status.visibility in ("public", "unlisted") or (status.visibility == "private" and status.account_id == by)


async def _compose(account: AccountActor, original: Status, message: Reblog) -> NewStatus:
    """Return the new boost. It is never more visible than the original; a default of `direct` becomes `private`."""
    context, id = account.context, account.context.ids.next()
    visibility = "private" if original.visibility == "private" else await choose_visibility(account, message.visibility)
    uri = message.uri or f"{context.base_url}/users/{account.owner.username}/statuses/{id}/activity"
    return NewStatus(
        id, account.id, uri, uri, "private" if visibility == "direct" else visibility,
        language=original.language, sensitive=original.sensitive, reblog_of_id=original.id, local=account.is_local,
        created_at=message.created_at,
    )  # fmt: skip


async def _reblog(
    db: Connection, account: AccountActor, original: Status, new: NewStatus, now: datetime, origin: Origin
) -> Boosted | Refused:
    if await undone(db, account, None if account.is_local else new.uri, now):
        return NOT_FOUND
    if (refusal := await admit(db, account, original)) is not None:
        return refusal
    if not account.is_local and await remote_statuses.find(db, new.uri) is not None:
        return NOT_FOUND  # it was undone, and is repeated
    if (earlier := await statuses.find_reblog(db, account.id, original.id)) is not None:
        return Boosted(earlier)
    made = await statuses.insert(db, new, now)
    ids = account.context.ids
    news = [NewNotification(ids.next(), original.account_id, account.id, "reblog", original.id)]
    told = await notifications.insert_many(db, news, now)
    promises = [status_changed(new.id, account.id), counts_changed(original.id, account.id)]
    promises += [*notifications_added(told), *await send_boost(db, account, made, original)]
    return Boosted(new.id, told, await account.context.outbox.promise(db, promises, origin))


@turn(AccountActor, Unreblog)
async def unreblog(account: AccountActor, message: Unreblog) -> int:
    original_id = await original_of(account, message.status_id)
    done = await account.transact(_unreblog, account, original_id, account.now, account.origin)
    if done is not None:
        deleted, promised = done
        await account.publish(DeletedStatus(deleted), promised=promised)
    return original_id


async def _unreblog(
    db: Connection, account: AccountActor, original_id: int, now: datetime, origin: Origin
) -> tuple[Deleted, list[int]] | None:
    boost = await statuses.find_reblog(db, account.id, original_id)
    return None if boost is None else await delete(db, account, DeleteStatus(boost), now, origin)

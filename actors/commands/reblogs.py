"""Boosts, in the turn of the account that boosts. A boost is a status of its own that refers to the original."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import reblogs, statuses
from ...storage.federation import remote_statuses
from ...storage.notifications import NewNotification
from ...storage.statuses import NewStatus, Status
from ..account import AccountActor, AccountChange
from ..facts.accounts import ChangedAccount
from ..facts.marks import MarkedStatus, UnmarkedStatus
from ..facts.statuses import PublishedStatus
from ..kernel import Command, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..sending.statuses import send_boost
from .interacting import admit, original_of, undone
from .statuses import DeleteStatus, choose_visibility, delete, find_original


@dataclass(frozen=True, slots=True)
class Reblog(Command[int]):
    """Command: boost a status. The answer is the id of the boost, for a repeat the id of the earlier boost.

    The boost of an account of another server has a `uri` and, if its server tells it, the time when it was made.
    """

    status_id: int
    visibility: str | None = None
    uri: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unreblog(Command[int]):
    """Command: remove a boost, also of a status that is hidden by now. The answer is the id of the original."""

    status_id: int


@turn(AccountActor, Reblog)
async def reblog(account: AccountActor, message: Reblog) -> int | Refused:
    original = await find_original(account, message.status_id)
    if original is None:
        return NOT_FOUND
    if not _may_be_boosted(original, account.id):
        return NOT_ALLOWED
    new = await _compose(account, original, message)
    return await account.change(_reblog, original, new)


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


async def _reblog(change: AccountChange, original: Status, new: NewStatus) -> int | Refused:
    """Store the boost. Return its id, or the id of an earlier boost."""
    db, account = change.db, change.account
    if await undone(change, new.uri):
        return NOT_FOUND
    if (refusal := await admit(change, original)) is not None:
        return refusal
    if not account.is_local and await remote_statuses.find(db, new.uri) is not None and not await _is_new(change, new):
        return NOT_FOUND  # it was undone, and is repeated
    if (earlier := await statuses.find_reblog(db, account.id, original.id)) is not None:
        return earlier
    made = await statuses.insert(db, new, change.now)
    change.count_again(original.id)
    change.publish(
        ChangedAccount(account.id), MarkedStatus(account.id, original.id, reblogged=True),
        UnmarkedStatus(account.id, new.id), PublishedStatus(new.id, account.id),
    )  # fmt: skip
    await change.notify(NewNotification(change.ids.next(), original.account_id, account.id, "reblog", original.id))
    change.promise(*await send_boost(db, account, made, original))
    return new.id


async def _is_new(change: AccountChange, boost: NewStatus) -> bool:
    """True for a boost with the URI of one that was undone if its server says that it was made later."""
    made_at = boost.created_at
    return made_at is not None and await reblogs.free_uri(change.db, boost.uri, change.account.id, made_at)


@turn(AccountActor, Unreblog)
async def unreblog(account: AccountActor, message: Unreblog) -> int:
    original_id = await original_of(account, message.status_id)
    await account.change(_unreblog, original_id)
    return original_id


async def _unreblog(change: AccountChange, original_id: int) -> None:
    boost = await statuses.find_reblog(change.db, change.account.id, original_id)
    if boost is not None:
        await delete(change, DeleteStatus(boost))

"""The parts that all interactions with a status share."""

from __future__ import annotations

from ...storage import blocks, relations, statuses
from ...storage.federation import tombstones
from ...storage.statuses import Status
from ..account import AccountActor, AccountChange
from ..kernel import Refused
from ..refusals import NOT_ALLOWED, NOT_FOUND


def invalid(text: str) -> Refused:
    return Refused(422, f"Validation failed: {text}")


async def admit(change: AccountChange, status: Status) -> Refused | None:
    """Check that the account may interact with the status, and lock it.

    Until the transaction ends, the status can't be deleted and no block between the two accounts can be made.
    """
    db, account_id = change.db, change.account.id
    if status.account_id != account_id:
        await relations.lock_pair(db, account_id, status.account_id)
        if await blocks.blocked_either_way(db, account_id, status.account_id):
            return NOT_ALLOWED
    return None if await statuses.hold(db, status.id) else NOT_FOUND


async def original_of(account: AccountActor, id: int) -> int:
    """Return the original if this is a boost. For undoing, which needs no permission."""
    status = await account.context.statuses.find(id)
    return id if status is None or status.reblog_of_id is None else status.reblog_of_id


async def undone(change: AccountChange, uri: str | None) -> bool:
    """True if an activity of another server was undone by its account before it arrived: it is not applied.

    The URI is locked until the transaction ends.

    Local users undo in order: their acts have no URI to check.
    """
    if uri is None or change.account.is_local:
        return False
    await tombstones.lock(change.db, [uri])
    return await tombstones.is_deleted(change.db, uri, change.account.id, change.now)

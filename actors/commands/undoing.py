"""Activities of other servers that were undone before they arrived: they are not applied."""

from __future__ import annotations

from ...storage.federation import tombstones
from ..account import AccountChange


async def undone(change: AccountChange, uri: str | None) -> bool:
    """True if an activity with this URI was undone by its account. The URI is locked until the transaction ends.

    Local users undo in order: their acts have no URI to check.
    """
    if uri is None or change.account.is_local:
        return False
    await tombstones.lock(change.db, [uri])
    return await tombstones.is_deleted(change.db, uri, change.account.id, change.now)

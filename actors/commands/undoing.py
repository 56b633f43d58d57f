"""Activities of other servers that were undone before they came: what they would do is not done."""

from __future__ import annotations

from ...storage.federation import tombstones
from ..account import AccountChange


async def undone(change: AccountChange, uri: str | None) -> bool:
    """True if an activity with this URI was undone by its account. The URI is locked until the transaction ends.

    What users of this server do has no URI and is undone in the order in which they do it.
    """
    if uri is None or change.account.is_local:
        return False
    await tombstones.lock(change.db, [uri])
    return await tombstones.is_deleted(change.db, uri, change.account.id, change.now)

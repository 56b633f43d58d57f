"""Activities of other servers that were undone before they came: what they would do is not done."""

from __future__ import annotations

from datetime import datetime

from ...storage import tombstones
from ...storage.engine.database import Connection
from ..account import AccountActor


async def undone(db: Connection, account: AccountActor, uri: str | None, now: datetime) -> bool:
    """True if an activity with this URI was undone by its account. The URI is locked until the transaction ends.

    What users of this server do has no URI and is undone in the order in which they do it.
    """
    if uri is None or account.is_local:
        return False
    await tombstones.lock(db, [uri])
    return await tombstones.is_deleted(db, uri, account.id, now)

"""Erasing posts that were deleted long ago, directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.expiry import BATCH, DELETED_STATUSES_KEPT
from ...actors.kernel.ids import Ids
from ...storage import expiry
from ...storage.engine.database import Connection


async def erase_statuses(db: Connection, dry_run: bool, ids: Ids, now: datetime) -> tuple[int, int]:
    """Return how many posts were erased, or with `dry_run` can be, and how many open reports keep."""
    before = now - DELETED_STATUSES_KEPT
    erasable, kept = await expiry.count_statuses(db, before)
    if dry_run:
        return erasable, kept
    erased = 0
    while gone := await expiry.delete_statuses(db, before, BATCH):
        erased += len(gone)
    return erased, kept

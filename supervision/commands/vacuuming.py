"""Erasing posts that were deleted long ago, directly in the rows, for the commands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ...actors.expiry import BATCH, DELETED_STATUSES_KEPT
from ...actors.kernel.ids import Ids
from ...storage import expiry
from ...storage.engine.database import Connection
from .rows import Transact


async def count_statuses(db: Connection, ids: Ids, now: datetime) -> tuple[int, int]:
    """Return how many posts can be erased, and how many open reports keep."""
    return await expiry.count_statuses(db, now - DELETED_STATUSES_KEPT)


def erase_statuses(run: Transact, progress: Callable[[int], None]) -> int:
    """Erase posts in batches, and return how many. `progress` is told of each batch."""
    erased = 0
    while gone := run(_erase_some):
        erased += gone
        progress(gone)
    return erased


async def _erase_some(db: Connection, ids: Ids, now: datetime) -> int:
    return len(await expiry.delete_statuses(db, now - DELETED_STATUSES_KEPT, BATCH))

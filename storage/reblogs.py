"""Boosts of a status: by whom, and for whom to see. A boost itself is a status like others."""

from collections.abc import Sequence
from dataclasses import dataclass

from .engine import Connection
from .paging import both_ways, slice_of

# In the order of Reblog's fields.
PAGE = both_ways("""
    SELECT s.id, s.account_id, s.visibility FROM statuses s
    WHERE s.reblog_of_id = $1 AND s.deleted_at IS NULL AND s.id < $2 AND s.id > $3
    ORDER BY s.id {order} LIMIT $4
""")

REBLOGGERS = "SELECT account_id FROM statuses WHERE reblog_of_id = $1 AND deleted_at IS NULL ORDER BY id"


@dataclass(frozen=True, slots=True)
class Reblog:
    """What decides who may know of a boost."""

    id: int
    account_id: int
    visibility: str
    mentioned_ids: Sequence[int] = ()


async def page(
    db: Connection, status_id: int, *, max_id: int | None, since_id: int | None, min_id: int | None, limit: int
) -> list[Reblog]:
    """Boosts of a status, the latest first; they page by their own ids."""
    slice = slice_of(max_id, since_id, min_id)
    rows = await db.fetch(PAGE[slice.oldest_first], status_id, slice.below, slice.above, limit)
    return sorted((Reblog(*row.values()) for row in rows), key=lambda reblog: reblog.id, reverse=True)


async def rebloggers(db: Connection, status_id: int) -> list[int]:
    """Everybody who has boosted a status and not taken it back."""
    return [row["account_id"] for row in await db.fetch(REBLOGGERS, status_id)]

"""Favourites: who liked what, counted on the status."""

from collections.abc import Sequence
from datetime import datetime

from .engine import Connection

INSERT = """
    WITH made AS (
        INSERT INTO favourites (id, account_id, status_id, uri, created_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (account_id, status_id) DO NOTHING RETURNING status_id
    )
    UPDATE status_counts SET favourites = favourites + 1 FROM made WHERE status_counts.status_id = made.status_id
    RETURNING status_counts.status_id
"""

DELETE = """
    WITH gone AS (DELETE FROM favourites WHERE account_id = $1 AND status_id = $2 RETURNING status_id)
    UPDATE status_counts SET favourites = favourites - 1 FROM gone WHERE status_counts.status_id = gone.status_id
    RETURNING status_counts.status_id
"""

OF = "SELECT status_id FROM favourites WHERE account_id = $1 AND status_id = ANY($2::bigint[])"


async def insert(
    db: Connection, id: int, account_id: int, status_id: int, now: datetime, uri: str | None = None
) -> bool:
    """Favourite a status and count it; False when it was there."""
    return await db.fetchval(INSERT, id, account_id, status_id, uri, now) is not None


async def delete(db: Connection, account_id: int, status_id: int) -> bool:
    """Take a favourite back; False when there was none."""
    return await db.fetchval(DELETE, account_id, status_id) is not None


async def of(db: Connection, account_id: int, status_ids: Sequence[int]) -> set[int]:
    """Which of these statuses the account has among its favourites."""
    return {row["status_id"] for row in await db.fetch(OF, account_id, status_ids)}

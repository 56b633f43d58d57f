"""Pins: the statuses that are shown first on a profile."""

from datetime import datetime

from .engine.database import Connection

INSERT = """
    INSERT INTO pins (id, account_id, status_id, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (status_id) DO NOTHING RETURNING id
"""

DELETE = "DELETE FROM pins WHERE account_id = $1 AND status_id = $2 RETURNING id"

PINNED = "SELECT status_id FROM pins WHERE account_id = $1"


async def insert(db: Connection, id: int, account_id: int, status_id: int, now: datetime) -> bool:
    """Pin an own status. False if it was pinned."""
    return await db.fetchval(INSERT, id, account_id, status_id, now) is not None


async def delete(db: Connection, account_id: int, status_id: int) -> bool:
    """Remove a pin. False if there was none."""
    return await db.fetchval(DELETE, account_id, status_id) is not None


async def pinned(db: Connection, account_id: int) -> set[int]:
    """Return the account's pinned statuses."""
    return {row["status_id"] for row in await db.fetch(PINNED, account_id)}

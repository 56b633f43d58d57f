"""Counts of attempts in windows of time, which the nodes of a cluster share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .engine.database import Connection

# The clocks of nodes differ. At the end of a window, a node whose clock is behind counts in the window that has begun.
COUNT = """
    INSERT INTO rate_counts (key, used, ends_at) VALUES ($1, 1, $2)
    ON CONFLICT (key) DO UPDATE SET
        used = CASE WHEN excluded.ends_at > rate_counts.ends_at THEN 1 ELSE rate_counts.used + 1 END,
        ends_at = greatest(excluded.ends_at, rate_counts.ends_at)
    RETURNING used, ends_at
"""
# The rows are locked in the order of their keys, so that two of these statements do not wait for each other.
TAKE_BACK = """
    WITH counted AS (
        SELECT r.key FROM rate_counts r
        JOIN unnest($1::bytea[], $2::timestamptz[]) AS taken (key, ends_at) USING (key, ends_at)
        ORDER BY r.key FOR UPDATE OF r
    )
    UPDATE rate_counts SET used = used - 1 WHERE key = ANY(ARRAY(SELECT key FROM counted)) AND used > 0
"""
DELETE_ENDED = """
    DELETE FROM rate_counts WHERE key = ANY(ARRAY(
        SELECT key FROM rate_counts WHERE ends_at <= $1 ORDER BY ends_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
"""


async def count(db: Connection, key: bytes, ends_at: datetime) -> tuple[int, datetime]:
    """Count an attempt in the window that ends then. Return the count, and the end of the window that has it."""
    row = await db.fetchrow(COUNT, key, ends_at)
    return row["used"], row["ends_at"]


async def take_back(db: Connection, keys: Sequence[bytes], ends: Sequence[datetime]) -> None:
    """Undo a count of each key, unless its window is over."""
    await db.execute(TAKE_BACK, keys, ends)


async def delete_ended(db: Connection, now: datetime, most: int) -> None:
    """Delete counts of windows that are over, the oldest first."""
    await db.execute(DELETE_ENDED, now, most)

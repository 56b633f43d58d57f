"""Bookmarks: private, uncounted."""

from datetime import datetime

from .engine import Connection

INSERT = """
    INSERT INTO bookmarks (id, account_id, status_id, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id, status_id) DO NOTHING RETURNING id
"""

DELETE = "DELETE FROM bookmarks WHERE account_id = $1 AND status_id = $2 RETURNING id"


async def insert(db: Connection, id: int, account_id: int, status_id: int, now: datetime) -> bool:
    """Bookmark a status; False when it was there."""
    return await db.fetchval(INSERT, id, account_id, status_id, now) is not None


async def delete(db: Connection, account_id: int, status_id: int) -> bool:
    """Take a bookmark back; False when there was none."""
    return await db.fetchval(DELETE, account_id, status_id) is not None

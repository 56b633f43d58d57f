"""Bookmarks. They are private and not counted."""

from datetime import datetime

from .engine.database import Connection
from .timeline_entries import ListedEntry, listed_entries, listed_entry_of
from .upkeep.paging import Page, both_ways, rows_of

INSERT = """
    INSERT INTO bookmarks (id, account_id, status_id, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id, status_id) DO NOTHING RETURNING id
"""

DELETE = "DELETE FROM bookmarks WHERE account_id = $1 AND status_id = $2 RETURNING id"

ENTRIES = """
    SELECT b.id, b.status_id FROM bookmarks b JOIN statuses s ON s.id = b.status_id
    WHERE b.account_id = $1 AND b.id < $2 AND b.id > $3 AND s.deleted_at IS NULL ORDER BY b.id {order} LIMIT $4
"""
PAGE = both_ways(listed_entries(ENTRIES))


async def insert(db: Connection, id: int, account_id: int, status_id: int, now: datetime) -> bool:
    """Bookmark a status. False if it was bookmarked."""
    return await db.fetchval(INSERT, id, account_id, status_id, now) is not None


async def delete(db: Connection, account_id: int, status_id: int) -> bool:
    """Remove a bookmark. False if there was none."""
    return await db.fetchval(DELETE, account_id, status_id) is not None


async def page(db: Connection, account_id: int, page: Page) -> list[ListedEntry]:
    """Return an account's bookmarks, the latest first. The caller decides which statuses the account may still see."""
    return [listed_entry_of(row) for row in await rows_of(db, PAGE, page, account_id)]

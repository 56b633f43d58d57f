"""Favourites, which are counted on the status."""

from collections.abc import Collection, Sequence
from datetime import datetime

from .accounts import listed
from .engine.database import Connection
from .timeline_entries import ListedEntry, listed_entries, listed_entry_of
from .upkeep.paging import Page, both_ways, page_of, rows_of

INSERT = """
    WITH made AS (
        INSERT INTO favourites (id, account_id, status_id, uri, created_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (account_id, status_id) DO NOTHING RETURNING status_id
    )
    UPDATE status_counts SET favourites = favourites + 1 FROM made WHERE status_counts.status_id = made.status_id
    RETURNING status_counts.status_id
"""

DELETE = """
    WITH gone AS (DELETE FROM favourites WHERE account_id = $1 AND status_id = $2 RETURNING id, status_id)
    UPDATE status_counts SET favourites = favourites - 1 FROM gone WHERE status_counts.status_id = gone.status_id
    RETURNING gone.id
"""

RENAME = "UPDATE favourites SET uri = $3 WHERE account_id = $1 AND status_id = $2"

FIND = "SELECT status_id FROM favourites WHERE account_id = $1 AND uri = $2"

ENTRIES = """
    SELECT f.id, f.status_id FROM favourites f JOIN statuses s ON s.id = f.status_id
    WHERE f.account_id = $1 AND f.id < $2 AND f.id > $3 AND s.deleted_at IS NULL ORDER BY f.id {order} LIMIT $4
"""
PAGE = both_ways(listed_entries(ENTRIES))

PAGE_OF_STATUS = both_ways(f"""
    SELECT f.id, f.account_id FROM favourites f
    WHERE f.status_id = $1 AND f.id < $2 AND f.id > $3 AND {listed("f.account_id", without="$5")}
    ORDER BY f.id {{order}} LIMIT $4
""")

OF = "SELECT status_id FROM favourites WHERE account_id = $1 AND status_id = ANY($2::bigint[])"


async def insert(
    db: Connection, id: int, account_id: int, status_id: int, now: datetime, uri: str | None = None
) -> bool:
    """Favourite a status and count it. False if it was a favourite."""
    return await db.fetchval(INSERT, id, account_id, status_id, uri, now) is not None


async def delete(db: Connection, account_id: int, status_id: int) -> int | None:
    """Remove a favourite. Return its id; None if there was none."""
    return await db.fetchval(DELETE, account_id, status_id)


async def rename(db: Connection, account_id: int, status_id: int, uri: str) -> None:
    """Give a favourite of an account of another server another URI."""
    await db.execute(RENAME, account_id, status_id, uri)


async def status_of(db: Connection, account_id: int, uri: str) -> int | None:
    """Return the status of an account's favourite, by the URI of the favourite."""
    return await db.fetchval(FIND, account_id, uri)


async def of(db: Connection, account_id: int, status_ids: Sequence[int]) -> set[int]:
    """Return which of these statuses the account has favourited."""
    return {row["status_id"] for row in await db.fetch(OF, account_id, status_ids)}


async def page(db: Connection, account_id: int, page: Page) -> list[ListedEntry]:
    """Return an account's favourites, the latest first. The caller decides which statuses the account may still see."""
    return [listed_entry_of(row) for row in await rows_of(db, PAGE, page, account_id)]


async def page_of_status(
    db: Connection, status_id: int, page: Page, *, without: Collection[int] = ()
) -> list[tuple[int, int]]:  # fmt: skip
    """Return the accounts that favourited a status, the latest first, as (paging id, account id).

    The reader decides which accounts to leave out.
    """
    return await page_of(db, PAGE_OF_STATUS, page, status_id, list(without))

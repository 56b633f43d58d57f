"""Endorsements: accounts that an account recommends. Call `relations.lock_pair` first: only follows can be endorsed."""

from collections.abc import Collection
from datetime import datetime

from .accounts import listed
from .engine.database import Connection
from .upkeep.paging import Page, both_ways, page_of

# The statement that endorses also checks the follow: it may have ended a moment ago.
INSERT = """
    INSERT INTO endorsements (id, account_id, target_account_id, created_at)
    SELECT $1, account_id, target_account_id, $4 FROM follows WHERE account_id = $2 AND target_account_id = $3
    ON CONFLICT (account_id, target_account_id) DO UPDATE SET created_at = endorsements.created_at
    RETURNING id
"""

DELETE = "DELETE FROM endorsements WHERE account_id = $1 AND target_account_id = $2"

PAGE = both_ways(f"""
    SELECT id AS page_id, target_account_id AS account_id FROM endorsements e
    WHERE account_id = $1 AND id < $2 AND id > $3 AND {listed("e.target_account_id", without="$5")}
    ORDER BY id {{order}} LIMIT $4
""")


async def insert(db: Connection, id: int, account_id: int, target_id: int, now: datetime) -> bool:
    """Endorse an account. False if it is not followed."""
    return await db.fetchval(INSERT, id, account_id, target_id, now) is not None


async def delete(db: Connection, account_id: int, target_id: int) -> None:
    await db.execute(DELETE, account_id, target_id)


async def page(
    db: Connection, account_id: int, page: Page, *, without: Collection[int] = ()
) -> list[tuple[int, int]]:  # fmt: skip
    """Return the endorsed accounts, the latest first, as (paging id, account id).

    The reader decides which accounts to leave out.
    """
    return await page_of(db, PAGE, page, account_id, list(without))

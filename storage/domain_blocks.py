"""Blocks of whole domains."""

from datetime import datetime

from .engine.database import Connection
from .upkeep.paging import Page, both_ways, rows_of

INSERT = """
    INSERT INTO account_domain_blocks (id, account_id, domain, created_at) VALUES ($1, $2, lower($3), $4)
    ON CONFLICT (account_id, domain) DO NOTHING RETURNING id
"""

DELETE = "DELETE FROM account_domain_blocks WHERE account_id = $1 AND domain = lower($2) RETURNING id"

PAGE = both_ways("""
    SELECT id, domain FROM account_domain_blocks
    WHERE account_id = $1 AND id < $2 AND id > $3 ORDER BY id {order} LIMIT $4
""")

# Except for accounts that the account follows, which can still notify it.
FORGET = """
    DELETE FROM notifications n USING accounts a
    WHERE n.account_id = $1 AND a.id = n.from_account_id AND a.domain = lower($2)
    AND NOT EXISTS (SELECT FROM follows f WHERE f.account_id = $1 AND f.target_account_id = a.id)
"""


async def insert(db: Connection, id: int, account_id: int, domain: str, now: datetime) -> bool:
    """Block a domain and delete its notifications. `follows.from_domain` finds the follows to end."""
    new = await db.fetchval(INSERT, id, account_id, domain, now) is not None
    await db.execute(FORGET, account_id, domain)
    return new


async def delete(db: Connection, account_id: int, domain: str) -> bool:
    return await db.fetchval(DELETE, account_id, domain) is not None


async def page(db: Connection, account_id: int, page: Page) -> list[tuple[int, str]]:
    """Return the blocked domains, the latest first, as (paging id, domain)."""
    return [(row["id"], row["domain"]) for row in await rows_of(db, PAGE, page, account_id)]

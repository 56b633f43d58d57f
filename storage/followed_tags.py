"""Followed hashtags, whose public statuses are on the follower's home timeline. No other account sees them."""

from datetime import datetime

from .engine.database import Connection
from .statuses import StatusTag
from .upkeep.paging import Page, both_ways, rows_of

INSERT = """
    INSERT INTO followed_tags (id, account_id, tag_id, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id, tag_id) DO NOTHING
"""

DELETE = """
    DELETE FROM followed_tags f USING tags t WHERE f.account_id = $1 AND t.name = $2 AND f.tag_id = t.id
"""

OF_ACCOUNT = """
    SELECT t.name, f.id FROM followed_tags f JOIN tags t ON t.id = f.tag_id WHERE f.account_id = $1 ORDER BY f.id
"""

PAGE = both_ways("""
    SELECT f.id AS page_id, t.id, t.name, t.display_name FROM followed_tags f JOIN tags t ON t.id = f.tag_id
    WHERE f.account_id = $1 AND f.id < $2 AND f.id > $3 ORDER BY f.id {order} LIMIT $4
""")


async def insert(db: Connection, id: int, account_id: int, tag_id: int, now: datetime) -> None:
    """Follow a hashtag. A repeat changes nothing."""
    await db.execute(INSERT, id, account_id, tag_id, now)


async def delete(db: Connection, account_id: int, name: str) -> None:
    """Stop following a hashtag, by its name."""
    await db.execute(DELETE, account_id, name)


async def of_account(db: Connection, account_id: int) -> dict[str, int]:
    """Return the ids of an account's follows of hashtags by the hashtags' names, the oldest first."""
    return {row["name"]: row["id"] for row in await db.fetch(OF_ACCOUNT, account_id)}


async def page(db: Connection, account_id: int, page: Page) -> list[tuple[int, StatusTag]]:
    """Return the hashtags that an account follows, the latest first, as (paging id, hashtag)."""
    rows = await rows_of(db, PAGE, page, account_id)
    return [(row["page_id"], StatusTag(row["id"], row["name"], row["display_name"])) for row in rows]

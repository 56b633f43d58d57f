"""Blocks of accounts, by accounts. Take `relations.lock_pair` before blocking or unblocking an account."""

from dataclasses import dataclass
from datetime import datetime

from . import conversations, follow_requests, follows
from .accounts import listed
from .engine.database import Connection
from .upkeep.paging import Page, both_ways, page_of

INSERT = """
    INSERT INTO blocks (id, account_id, target_account_id, uri, created_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (account_id, target_account_id) DO NOTHING RETURNING id
"""

DELETE = "DELETE FROM blocks WHERE account_id = $1 AND target_account_id = $2 RETURNING id"

FIND_TARGET = "SELECT target_account_id FROM blocks WHERE account_id = $1 AND uri = $2"

BLOCKED_EITHER_WAY = """
    SELECT EXISTS (
        SELECT FROM blocks
        WHERE (account_id = $1 AND target_account_id = $2) OR (account_id = $2 AND target_account_id = $1)
    )
"""

FORGET_NOTIFICATIONS = "DELETE FROM notifications WHERE account_id = $1 AND from_account_id = $2"


PAGE = both_ways(f"""
    SELECT id AS page_id, target_account_id AS account_id FROM blocks b
    WHERE account_id = $1 AND id < $2 AND id > $3 AND {listed("b.target_account_id")}
    ORDER BY id {{order}} LIMIT $4
""")


@dataclass(frozen=True, slots=True)
class Severed:
    """The rows that a block deleted."""

    new: bool
    following: bool
    followed_by: bool


async def insert_block(
    db: Connection, id: int, account_id: int, target_id: int, now: datetime, uri: str | None = None
) -> Severed:
    """Block an account and delete follows, requests and notifications between the two. A repeat changes nothing."""
    new = await db.fetchval(INSERT, id, account_id, target_id, uri, now) is not None
    following = await follows.delete_follow(db, account_id, target_id)
    followed_by = await follows.delete_follow(db, target_id, account_id)
    await follow_requests.delete(db, account_id, target_id)
    await follow_requests.delete(db, target_id, account_id)
    await db.execute(FORGET_NOTIFICATIONS, account_id, target_id)
    await conversations.forget(db, account_id, target_id)
    return Severed(new, following, followed_by)


async def delete_block(db: Connection, account_id: int, target_id: int) -> int | None:
    """Unblock an account. Return the id of the block; None if there was none."""
    return await db.fetchval(DELETE, account_id, target_id)


async def target_of(db: Connection, account_id: int, uri: str) -> int | None:
    """Return the account that an account blocks, by the URI of the block."""
    return await db.fetchval(FIND_TARGET, account_id, uri)


async def blocked_either_way(db: Connection, a: int, b: int) -> bool:
    return await db.fetchval(BLOCKED_EITHER_WAY, a, b)


async def page(db: Connection, account_id: int, page: Page) -> list[tuple[int, int]]:
    """Return the blocked accounts, the latest block first, as (paging id, account id)."""
    return await page_of(db, PAGE, page, account_id)

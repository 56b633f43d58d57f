"""Lists: accounts that an owner reads together."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row
from .engine.sql import Statement
from .paging import Page, both_ways
from .timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, TimelineEntry, entry_of

# In the order of List's fields.
COLUMNS = "l.id, l.account_id, l.title, l.replies_policy, l.exclusive, l.created_at"

HOLDING = f"""
    SELECT {COLUMNS} FROM list_accounts held JOIN lists l ON l.id = held.list_id
    WHERE l.account_id = $1 AND held.account_id = $2 ORDER BY l.id
"""

ALL = f"SELECT {COLUMNS} FROM lists l WHERE l.account_id = $1 ORDER BY l.id"

FIND = f"SELECT {COLUMNS} FROM lists l WHERE l.id = $1"

INSERT = Statement("""
    INSERT INTO lists (id, account_id, title, replies_policy, exclusive, created_at)
    SELECT :id, :account_id, :title, :replies_policy, :exclusive, :created_at
    WHERE (SELECT count(*) FROM lists WHERE account_id = :account_id) < :most
    RETURNING id
""")

CHANGE = f"""
    UPDATE lists l SET
        title = coalesce($3, title), replies_policy = coalesce($4, replies_policy),
        exclusive = coalesce($5, exclusive)
    WHERE l.account_id = $1 AND l.id = $2
    RETURNING {COLUMNS}
"""

DELETE = f"DELETE FROM lists l WHERE l.account_id = $1 AND l.id = $2 RETURNING {COLUMNS}"

# Locked, so that a transaction that ends the relation meanwhile finds the new member and removes it.
HELD = """
    SELECT target_account_id FROM {table} WHERE account_id = $1 AND target_account_id = ANY($2::bigint[])
    FOR KEY SHARE
"""
FOLLOWED = HELD.format(table="follows")
REQUESTED = HELD.format(table="follow_requests")

ADD = """
    INSERT INTO list_accounts (id, list_id, account_id, created_at)
    SELECT id, $1, account_id, $4 FROM unnest($2::bigint[], $3::bigint[]) AS new (account_id, id)
    ON CONFLICT (list_id, account_id) DO NOTHING RETURNING id
"""

REMOVE = "DELETE FROM list_accounts WHERE list_id = $1 AND account_id = ANY($2::bigint[])"

MEMBERS = "SELECT id, account_id FROM list_accounts WHERE list_id = $1 ORDER BY id"

PAGE = both_ways("""
    SELECT la.account_id FROM list_accounts la
    WHERE la.list_id = $1 AND la.account_id < $2 AND la.account_id > $3
    AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = la.account_id AND a.suspended_at IS NOT NULL)
    ORDER BY la.account_id {order} LIMIT nullif($4::bigint, 0)
""")

EXCLUSIVE = """
    SELECT la.account_id FROM lists l JOIN list_accounts la ON la.list_id = l.id
    WHERE l.account_id = $1 AND l.exclusive
    AND la.account_id <> $1
"""

# As a home timeline is read: for each author the few rows that can be on the page, then the page of them.
ENTRIES = both_ways(f"""
    WITH page AS (
        SELECT own.id FROM list_accounts la CROSS JOIN LATERAL (
            SELECT s.id FROM statuses s
            WHERE s.account_id = la.account_id AND s.deleted_at IS NULL AND s.id < $2 AND s.id > $3
            ORDER BY s.id {{order}} LIMIT $4
        ) AS own
        WHERE la.list_id = $1
        ORDER BY own.id {{order}} LIMIT $4
    )
    SELECT {ENTRY_COLUMNS} FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
""")


@dataclass(frozen=True, slots=True)
class List:
    """One list; who is on it is read by page."""

    id: int
    account_id: int
    title: str
    replies_policy: str
    exclusive: bool
    created_at: datetime


async def holding(db: Connection, owner: int, account_id: int) -> list[List]:
    """The owner's lists that an account is on."""
    return [List(*row.values()) for row in await db.fetch(HOLDING, owner, account_id)]


async def all_of(db: Connection, owner: int) -> list[List]:
    """An owner's lists, the oldest first."""
    return [List(*row.values()) for row in await db.fetch(ALL, owner)]


async def find(db: Connection, id: int) -> List | None:
    return _list(await db.fetchrow(FIND, id))


async def insert(db: Connection, new: List, most: int) -> bool:
    """Store a list, unless its owner has as many as anybody may. Owners do one thing at a time."""
    return await db.fetchval(*INSERT.bind(new, most=most)) is not None


async def change(
    db: Connection, owner: int, id: int, title: str | None, replies_policy: str | None, exclusive: bool | None
) -> List | None:
    """What is None stays as it is; None when the owner has no such list."""
    return _list(await db.fetchrow(CHANGE, owner, id, title, replies_policy, exclusive))


async def delete(db: Connection, owner: int, id: int) -> List | None:
    """The list as it was; None when the owner has no such list."""
    return _list(await db.fetchrow(DELETE, owner, id))


async def known_to(db: Connection, owner: int, account_ids: Sequence[int]) -> set[int]:
    """Those of these accounts that the owner follows, asks to, or is. They stay so until the transaction ends."""
    rows = [*await db.fetch(FOLLOWED, owner, account_ids), *await db.fetch(REQUESTED, owner, account_ids)]
    return {row["target_account_id"] for row in rows} | ({owner} & set(account_ids))


async def add(db: Connection, id: int, account_ids: Sequence[int], fresh_ids: Sequence[int], now: datetime) -> int:
    """Put accounts on a list; how many were not there before."""
    return len(await db.fetch(ADD, id, account_ids, fresh_ids, now))


async def remove(db: Connection, id: int, account_ids: Sequence[int]) -> None:
    await db.execute(REMOVE, id, account_ids)


async def members(db: Connection, id: int) -> dict[int, int]:
    """Who is on a list, each with the id of the membership, which tells since when."""
    return {row["account_id"]: row["id"] for row in await db.fetch(MEMBERS, id)}


async def members_page(
    db: Connection,
    id: int,
    page: Page,
) -> list[int]:
    """Accounts on a list by their ids, the highest first; with a limit of 0, all."""
    rows = await db.fetch(PAGE[page.oldest_first], id, *page.bounds)
    return sorted((row["account_id"] for row in rows), reverse=True)


async def exclusive_members(db: Connection, owner: int) -> set[int]:
    """The members of exclusive lists, which the owner reads there and not at home."""
    return {row["account_id"] for row in await db.fetch(EXCLUSIVE, owner)}


async def entries(
    db: Connection,
    id: int,
    page: Page,
) -> list[TimelineEntry]:
    """What those on a list wrote or boosted: the reader sifts."""
    rows = await db.fetch(ENTRIES[page.oldest_first], id, *page.bounds)
    return [entry_of(row) for row in rows]


def _list(row: Row | None) -> List | None:
    return List(*row.values()) if row is not None else None

"""Lists of accounts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .accounts import listed
from .engine.database import Connection, Row
from .engine.sql import Statement
from .timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, TimelineEntry, entry_of
from .upkeep.paging import Page, both_ways, rows_of

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

PAGE = both_ways(f"""
    SELECT la.account_id FROM list_accounts la
    WHERE la.list_id = $1 AND la.account_id < $2 AND la.account_id > $3 AND {listed("la.account_id")}
    ORDER BY la.account_id {{order}} LIMIT nullif($4::bigint, 0)
""")

EXCLUSIVE = """
    SELECT la.account_id FROM lists l JOIN list_accounts la ON la.list_id = l.id
    WHERE l.account_id = $1 AND l.exclusive
    AND la.account_id <> $1
"""

# Read like a home timeline: for each author the few rows that can be on the page, then the page of them. It does not
# filter: `belongs_in_list` in `actors/rules/visibility.py` leaves out replies that the list's policy excludes, and what
# the owner may not see.
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
    """A list without its members."""

    id: int
    account_id: int
    title: str
    replies_policy: str
    exclusive: bool
    created_at: datetime


async def holding(db: Connection, owner: int, account_id: int) -> list[List]:
    """Return the owner's lists that contain an account."""
    return [List(*row.values()) for row in await db.fetch(HOLDING, owner, account_id)]


async def all_of(db: Connection, owner: int) -> list[List]:
    """Return an owner's lists, the oldest first."""
    return [List(*row.values()) for row in await db.fetch(ALL, owner)]


async def find(db: Connection, id: int) -> List | None:
    return _list(await db.fetchrow(FIND, id))


async def insert(db: Connection, new: List, most: int) -> bool:
    """Store a list, unless its owner has the highest allowed number. The owner's actor runs one turn at a time."""
    return await db.fetchval(*INSERT.bind(new, most=most)) is not None


async def change(
    db: Connection, owner: int, id: int, title: str | None, replies_policy: str | None, exclusive: bool | None
) -> List | None:
    """Change a list. A None value leaves it as it is. Return None if the owner has no such list."""
    return _list(await db.fetchrow(CHANGE, owner, id, title, replies_policy, exclusive))


async def delete(db: Connection, owner: int, id: int) -> List | None:
    """Delete a list and return it as it was. None if the owner has no such list."""
    return _list(await db.fetchrow(DELETE, owner, id))


async def known_to(db: Connection, owner: int, account_ids: Sequence[int]) -> set[int]:
    """Return the accounts that the owner follows, asks to follow, or is. They stay so until the transaction ends."""
    rows = [*await db.fetch(FOLLOWED, owner, account_ids), *await db.fetch(REQUESTED, owner, account_ids)]
    return {row["target_account_id"] for row in rows} | ({owner} & set(account_ids))


async def add(db: Connection, id: int, account_ids: Sequence[int], fresh_ids: Sequence[int], now: datetime) -> int:
    """Add accounts to a list. Return how many were new."""
    return len(await db.fetch(ADD, id, account_ids, fresh_ids, now))


async def remove(db: Connection, id: int, account_ids: Sequence[int]) -> None:
    await db.execute(REMOVE, id, account_ids)


async def members(db: Connection, id: int) -> dict[int, int]:
    """Return the members of a list with the ids of the memberships, which contain the time."""
    return {row["account_id"]: row["id"] for row in await db.fetch(MEMBERS, id)}


async def members_page(db: Connection, id: int, page: Page) -> list[int]:
    """Return members of a list by their ids, the highest first; all of them for a limit of 0."""
    return [row["account_id"] for row in await rows_of(db, PAGE, page, id)]


async def exclusive_members(db: Connection, owner: int) -> set[int]:
    """Return the members of exclusive lists, whose statuses are not on the home timeline."""
    return {row["account_id"] for row in await db.fetch(EXCLUSIVE, owner)}


async def entries(
    db: Connection,
    id: int,
    page: Page,
) -> list[TimelineEntry]:
    """Return statuses and boosts of a list's members. The caller filters them by `belongs_in_list`."""
    rows = await db.fetch(ENTRIES[page.oldest_first], id, *page.bounds)
    return [entry_of(row) for row in rows]


def _list(row: Row | None) -> List | None:
    return List(*row.values()) if row is not None else None

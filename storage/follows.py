"""Follows and requests to follow. Take `relations.lock_pair` first: these functions do not look for a block."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from . import accounts
from .engine import Connection
from .paging import both_ways, slice_of

COLUMNS = "id, account_id, target_account_id, show_reblogs, notify, languages, uri, created_at"

INSERT = f"""
    INSERT INTO follows ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (account_id, target_account_id) DO NOTHING RETURNING id
"""

INSERT_REQUEST = f"""
    INSERT INTO follow_requests ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (account_id, target_account_id) DO NOTHING RETURNING id
"""

# Stored on the request too, and kept on acceptance.
CHANGE = """
    UPDATE {table} SET
        show_reblogs = coalesce($3, show_reblogs), notify = coalesce($4, notify),
        languages = CASE WHEN $5 THEN $6::text[] ELSE languages END
    WHERE account_id = $1 AND target_account_id = $2
    RETURNING id
"""
CHANGE_FOLLOW = CHANGE.format(table="follows")
CHANGE_REQUEST = CHANGE.format(table="follow_requests")

DELETE = "DELETE FROM follows WHERE account_id = $1 AND target_account_id = $2 RETURNING id"
DELETE_REQUEST = f"DELETE FROM follow_requests WHERE account_id = $1 AND target_account_id = $2 RETURNING {COLUMNS}"

COUNT = """
    UPDATE account_counts SET
        following = following + CASE WHEN account_id = $1 THEN $3 ELSE 0 END,
        followers = followers + CASE WHEN account_id = $2 THEN $3 ELSE 0 END
    WHERE account_id IN ($1, $2)
"""

# A follow that ends takes its places in lists and its notification with it.
FORGET = """
    WITH listed AS (
        DELETE FROM list_accounts WHERE account_id = $2 AND list_id IN (SELECT id FROM lists WHERE account_id = $1)
    )
    DELETE FROM notifications
    WHERE account_id = $2 AND from_account_id = $1 AND type = ANY('{follow,follow_request}'::text[])
"""

# An accepted request keeps its places in lists.
ANSWERED = "DELETE FROM notifications WHERE account_id = $2 AND from_account_id = $1 AND type = 'follow_request'"

FOLLOWERS_OF = (
    "SELECT account_id FROM follows WHERE target_account_id = $1 AND account_id > $2 ORDER BY account_id LIMIT $3"
)

LOCAL_FOLLOWERS = """
    SELECT f.account_id FROM follows f JOIN users u ON u.account_id = f.account_id WHERE f.target_account_id = $1
"""

PAGE_FOLLOWERS = both_ways("""
    SELECT id AS page_id, account_id FROM follows
    WHERE target_account_id = $1 AND id < $2 AND id > $3 ORDER BY id {order} LIMIT $4
""")
PAGE_FOLLOWING = both_ways("""
    SELECT id AS page_id, target_account_id AS account_id FROM follows
    WHERE account_id = $1 AND id < $2 AND id > $3 ORDER BY id {order} LIMIT $4
""")
PAGE_REQUESTS = both_ways("""
    SELECT id AS page_id, account_id FROM follow_requests
    WHERE target_account_id = $1 AND id < $2 AND id > $3 ORDER BY id {order} LIMIT $4
""")


@dataclass(frozen=True, slots=True)
class Follow:
    """A follow, or a request for one: they have one shape."""

    id: int
    account_id: int
    target_account_id: int
    show_reblogs: bool = True
    notify: bool = False
    languages: tuple[str, ...] | None = None
    uri: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """New terms of a follow: None leaves a term as it is; for languages None is a choice, hence their flag."""

    show_reblogs: bool | None = None
    notify: bool | None = None
    languages: tuple[str, ...] | None = None
    set_languages: bool = False


async def insert_follow(db: Connection, follow: Follow, now: datetime) -> bool:
    """Begin a follow and count it on both sides; False when it was there."""
    await accounts.lock_counts(db, [follow.account_id, follow.target_account_id])
    if await db.fetchval(INSERT, *_values(follow, now)) is None:
        return False
    await db.execute(COUNT, follow.account_id, follow.target_account_id, 1)
    return True


async def change_follow(db: Connection, account_id: int, target_id: int, change: Change) -> bool:
    """Change the terms of a follow or of a request; False when there is neither."""
    terms = (account_id, target_id, change.show_reblogs, change.notify, change.set_languages, change.languages)
    followed = await db.fetchval(CHANGE_FOLLOW, *terms)
    return followed is not None or await db.fetchval(CHANGE_REQUEST, *terms) is not None


async def delete_follow(db: Connection, account_id: int, target_id: int) -> bool:
    """End a follow with its places in lists and its notification; False when there was none."""
    await accounts.lock_counts(db, [account_id, target_id])
    if await db.fetchval(DELETE, account_id, target_id) is None:
        return False
    await db.execute(COUNT, account_id, target_id, -1)
    await db.execute(FORGET, account_id, target_id)
    return True


async def insert_request(db: Connection, request: Follow, now: datetime) -> bool:
    """Ask to follow; False when it was asked before."""
    return await db.fetchval(INSERT_REQUEST, *_values(request, now)) is not None


async def delete_request(db: Connection, account_id: int, target_id: int) -> bool:
    """Take back or reject a request of `account_id` to follow `target_id`; False when there was none."""
    if await db.fetchrow(DELETE_REQUEST, account_id, target_id) is None:
        return False
    await db.execute(FORGET, account_id, target_id)
    return True


async def accept_request(db: Connection, account_id: int, target_id: int, now: datetime) -> bool:
    """Turn a request of `account_id` into a follow on the same terms; False when there was none."""
    row = await db.fetchrow(DELETE_REQUEST, account_id, target_id)
    if row is None:
        return False
    await db.execute(ANSWERED, account_id, target_id)
    await insert_follow(db, Follow(**row), now)
    return True


async def followers(db: Connection, account_id: int, after: int = 0, limit: int = 1000) -> list[int]:
    """Followers by id, in parts: give the last id of one part to get the next."""
    return [row["account_id"] for row in await db.fetch(FOLLOWERS_OF, account_id, after, limit)]


async def local_followers(db: Connection, account_id: int) -> list[int]:
    """All followers that live here."""
    return [row["account_id"] for row in await db.fetch(LOCAL_FOLLOWERS, account_id)]


async def followers_page(
    db: Connection, account_id: int, *, max_id: int | None, since_id: int | None, min_id: int | None, limit: int
) -> list[tuple[int, int]]:
    """Followers, the latest first, as (paging id, account id)."""
    return await _page(db, PAGE_FOLLOWERS, account_id, max_id, since_id, min_id, limit)


async def following_page(
    db: Connection, account_id: int, *, max_id: int | None, since_id: int | None, min_id: int | None, limit: int
) -> list[tuple[int, int]]:
    """Whom an account follows, the latest first, as (paging id, account id)."""
    return await _page(db, PAGE_FOLLOWING, account_id, max_id, since_id, min_id, limit)


async def requests_page(
    db: Connection, account_id: int, *, max_id: int | None, since_id: int | None, min_id: int | None, limit: int
) -> list[tuple[int, int]]:
    """Who asks to follow an account, the latest first, as (paging id, account id)."""
    return await _page(db, PAGE_REQUESTS, account_id, max_id, since_id, min_id, limit)


async def _page(
    db: Connection,
    query: tuple[str, str],
    account_id: int,
    max_id: int | None,
    since_id: int | None,
    min_id: int | None,
    limit: int,
) -> list[tuple[int, int]]:
    slice = slice_of(max_id, since_id, min_id)
    rows = await db.fetch(query[slice.oldest_first], account_id, slice.below, slice.above, limit)
    return sorted(((row["page_id"], row["account_id"]) for row in rows), reverse=True)


def _values(follow: Follow, now: datetime) -> Sequence[Any]:
    return (
        *(follow.id, follow.account_id, follow.target_account_id, follow.show_reblogs, follow.notify),
        *(follow.languages, follow.uri, follow.created_at or now),
    )

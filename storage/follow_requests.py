"""Requests to follow. Call `relations.lock_pair` first: these functions do not check for a block."""

from collections.abc import Sequence
from datetime import datetime

from . import accounts
from .accounts import listed
from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .follows import COLUMNS, FORGET, FollowTerms
from .upkeep.paging import Page, both_ways, page_of

INSERT = Statement(f"""
    {insert_into("follow_requests", COLUMNS)} ON CONFLICT (account_id, target_account_id) DO NOTHING RETURNING id
""")

DELETE = f"DELETE FROM follow_requests WHERE account_id = $1 AND target_account_id = $2 RETURNING {COLUMNS}"

ASKED_AT = "SELECT created_at FROM follow_requests WHERE account_id = $1 AND target_account_id = $2"

# Requests become follows with the same terms and fresh ids: a follow is as old as its acceptance. Their notifications
# are deleted, their places in lists stay.
ACCEPT = """
    WITH fresh AS (
        SELECT * FROM unnest($2::bigint[], $3::bigint[]) AS fresh (id, account_id)
    ), answered AS (
        DELETE FROM follow_requests r USING fresh WHERE r.target_account_id = $1 AND r.account_id = fresh.account_id
        RETURNING fresh.id, r.account_id, r.target_account_id, r.show_reblogs, r.notify, r.languages, r.uri
    ), made AS (
        INSERT INTO follows
            (id, account_id, target_account_id, show_reblogs, notify, languages, uri, created_at, from_domain)
        SELECT answered.*, $4::timestamptz, a.domain FROM answered JOIN accounts a ON a.id = answered.account_id
        ON CONFLICT (account_id, target_account_id) DO NOTHING
        RETURNING account_id
    ), counted AS (
        UPDATE account_counts SET following = following + 1 FROM made WHERE account_counts.account_id = made.account_id
    ), followed AS (
        UPDATE account_counts SET followers = followers + (SELECT count(*) FROM made) WHERE account_id = $1
    ), unnotified AS (
        DELETE FROM notifications
        WHERE account_id = $1 AND type = 'follow_request' AND from_account_id IN (SELECT account_id FROM answered)
    )
    SELECT account_id FROM answered ORDER BY id
"""

# Requests that an unlocked account no longer needs to answer: not of silenced accounts, nor of accounts it mutes.
WAITING = """
    SELECT r.account_id FROM follow_requests r
    JOIN accounts target ON target.id = r.target_account_id AND NOT target.locked
    JOIN accounts a ON a.id = r.account_id AND a.silenced_at IS NULL AND a.suspended_at IS NULL
    WHERE r.target_account_id = $1 AND NOT EXISTS (
        SELECT FROM mutes m WHERE m.account_id = $1 AND m.target_account_id = r.account_id
        AND (m.expires_at IS NULL OR m.expires_at > $2)
    )
    ORDER BY r.id LIMIT $3
"""

# Locked until the transaction ends, so that no new request comes in while the account is being unlocked.
LOCKED = "SELECT locked FROM accounts WHERE id = $1 FOR SHARE"

PAGE = both_ways(f"""
    SELECT id AS page_id, account_id FROM follow_requests r
    WHERE target_account_id = $1 AND id < $2 AND id > $3 AND {listed("r.account_id")}
    ORDER BY id {{order}} LIMIT $4
""")


async def insert(db: Connection, request: FollowTerms, now: datetime) -> bool:
    """Insert a request. False if the account has asked already."""
    return await db.fetchval(*INSERT.bind(request, created_at=request.created_at or now)) is not None


async def delete(db: Connection, account_id: int, target_id: int) -> bool:
    """Delete the request of `account_id` to follow `target_id`. False if there was none."""
    if await db.fetchrow(DELETE, account_id, target_id) is None:
        return False
    await db.execute(FORGET, account_id, target_id)
    return True


async def accept(
    db: Connection, target_id: int, ids: Sequence[int], account_ids: Sequence[int], now: datetime
) -> list[int]:
    """Turn requests of these accounts into follows, each with an id of `ids`.

    Accounts without a request are left out.
    """
    await accounts.lock_counts(db, [target_id, *account_ids])
    return [row["account_id"] for row in await db.fetch(ACCEPT, target_id, ids, account_ids, now)]


async def waiting(db: Connection, target_id: int, now: datetime, limit: int) -> list[int]:
    """Return the accounts with waiting requests to an account that was unlocked."""
    return [row["account_id"] for row in await db.fetch(WAITING, target_id, now, limit)]


async def is_locked(db: Connection, target_id: int) -> bool:
    """True if the account is locked. It stays as it is until the transaction ends."""
    return bool(await db.fetchval(LOCKED, target_id))


async def page(db: Connection, account_id: int, page: Page) -> list[tuple[int, int]]:
    """Return the accounts that ask to follow an account, the latest first, as (paging id, account id)."""
    return await page_of(db, PAGE, page, account_id)


async def asked_at(db: Connection, account_id: int, target_id: int) -> datetime | None:
    """Return when an account asked to follow another account. None if no request waits for an answer."""
    return await db.fetchval(ASKED_AT, account_id, target_id)

"""Follows. Call `relations.lock_pair` first: these functions do not check for a block."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from . import accounts
from .accounts import listed
from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .upkeep.paging import Page, both_ways, page_of

COLUMNS = "id, account_id, target_account_id, show_reblogs, notify, languages, uri, created_at"

# The domain of a follower on another server is kept, to find the servers of an account's followers.
DOMAIN = "(SELECT domain FROM accounts WHERE id = :account_id)"

INSERT = Statement(f"""
    {insert_into("follows", f"{COLUMNS}, from_domain", from_domain=DOMAIN)}
    ON CONFLICT (account_id, target_account_id) DO NOTHING RETURNING id
""")


# Stored on the request too, and kept on acceptance.
CHANGE = """
    UPDATE {table} SET
        show_reblogs = coalesce($3, show_reblogs), notify = coalesce($4, notify),
        languages = CASE WHEN $5 THEN $6::text[] ELSE languages END, uri = coalesce($7, uri)
    WHERE account_id = $1 AND target_account_id = $2
    RETURNING id
"""
CHANGE_FOLLOW = CHANGE.format(table="follows")
CHANGE_REQUEST = CHANGE.format(table="follow_requests")

FIND_TARGET = """
    SELECT target_account_id FROM follows WHERE account_id = $1 AND uri = $2
    UNION ALL SELECT target_account_id FROM follow_requests WHERE account_id = $1 AND uri = $2
"""

FIND_ASKING = """
    SELECT account_id FROM follow_requests WHERE target_account_id = $1 AND uri = $2
    UNION ALL SELECT account_id FROM follows WHERE target_account_id = $1 AND uri = $2
"""
EXISTS = "SELECT EXISTS (SELECT FROM follows WHERE account_id = $1 AND target_account_id = $2)"

DELETE = "DELETE FROM follows WHERE account_id = $1 AND target_account_id = $2 RETURNING id"

COUNT = """
    UPDATE account_counts SET
        following = following + CASE WHEN account_id = $1 THEN $3 ELSE 0 END,
        followers = followers + CASE WHEN account_id = $2 THEN $3 ELSE 0 END
    WHERE account_id IN ($1, $2)
"""

# With a follow end its places in lists, its endorsement and its notification.
FORGET = """
    WITH listed AS (
        DELETE FROM list_accounts WHERE account_id = $2 AND list_id IN (SELECT id FROM lists WHERE account_id = $1)
    ), endorsed AS (
        DELETE FROM endorsements WHERE account_id = $1 AND target_account_id = $2
    )
    DELETE FROM notifications
    WHERE account_id = $2 AND from_account_id = $1 AND type = ANY('{follow,follow_request}'::text[])
"""


# Follows and requests between an account of this server and an account of another server.
REMOTE = """
    SELECT a.id AS account_id, a.uri AS account_uri, t.id AS target_id, t.uri AS target_uri,
        coalesce(f.uri, r.uri) AS uri, a.domain IS NOT NULL AS is_received
    FROM unnest($1::bigint[], $2::bigint[]) AS pair (account_id, target_id)
    JOIN accounts a ON a.id = pair.account_id
    JOIN accounts t ON t.id = pair.target_id AND (t.domain IS NULL) <> (a.domain IS NULL)
    LEFT JOIN follows f ON f.account_id = a.id AND f.target_account_id = t.id
    LEFT JOIN follow_requests r ON r.account_id = a.id AND r.target_account_id = t.id
    WHERE f.id IS NOT NULL OR r.id IS NOT NULL
    ORDER BY a.id, t.id
"""

# A follow becomes a request with the same terms. Its places in lists stay, as with any request.
ASK_ANEW = """
    WITH ended AS (
        DELETE FROM follows WHERE account_id = $2 AND target_account_id = $3
        RETURNING account_id, target_account_id, show_reblogs, notify, languages
    )
    INSERT INTO follow_requests (id, account_id, target_account_id, show_reblogs, notify, languages, uri, created_at)
    SELECT $1, ended.*, $4, $5 FROM ended
    ON CONFLICT (account_id, target_account_id) DO NOTHING
    RETURNING id
"""

ASK_AGAIN = """
    UPDATE follow_requests SET uri = $3, created_at = $4 WHERE account_id = $1 AND target_account_id = $2 RETURNING id
"""

LOCAL_FOLLOWERS = """
    SELECT f.account_id FROM (
        SELECT account_id FROM follows WHERE target_account_id = $1 AND from_domain IS NULL
        UNION SELECT account_id FROM follow_requests WHERE target_account_id = $1 AND created_at < $4
    ) AS f
    JOIN accounts a ON a.id = f.account_id WHERE a.domain IS NULL AND f.account_id > $2
    ORDER BY f.account_id LIMIT $3
"""

# The accounts of a domain that follow an account or ask to.
FROM_DOMAIN = """
    SELECT f.account_id FROM (
        SELECT account_id FROM follows WHERE target_account_id = $1
        UNION SELECT account_id FROM follow_requests WHERE target_account_id = $1
    ) AS f
    JOIN accounts a ON a.id = f.account_id WHERE a.domain = $2 ORDER BY f.account_id LIMIT $3
"""

PAGE_FOLLOWERS = both_ways(f"""
    SELECT f.id AS page_id, f.account_id FROM follows f
    WHERE f.target_account_id = $1 AND f.id < $2 AND f.id > $3 AND {listed("f.account_id", without="$5")}
    ORDER BY f.id {{order}} LIMIT $4
""")
PAGE_FOLLOWING = both_ways(f"""
    SELECT f.id AS page_id, f.target_account_id AS account_id FROM follows f
    WHERE f.account_id = $1 AND f.id < $2 AND f.id > $3 AND {listed("f.target_account_id", without="$5")}
    ORDER BY f.id {{order}} LIMIT $4
""")


@dataclass(frozen=True, slots=True)
class FollowTerms:
    """The terms of a follow or of a request to follow."""

    id: int
    account_id: int
    target_account_id: int
    show_reblogs: bool = True
    notify: bool = False
    languages: tuple[str, ...] | None = None
    uri: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RemoteFollow:
    """A follow, or a request to follow, between this server and another server: `is_received` from there, or sent.

    `uri` is the id of the Follow, if it is known.
    """

    account_id: int
    account_uri: str
    target_id: int
    target_uri: str
    uri: str | None
    is_received: bool


@dataclass(frozen=True, slots=True)
class ChangedTerms:
    """New terms of a follow. None leaves a term as it is; `languages` has a flag, because None is a value for it.

    A follow that is asked for again has the URI of the last time.
    """

    show_reblogs: bool | None = None
    notify: bool | None = None
    languages: tuple[str, ...] | None = None
    set_languages: bool = False
    uri: str | None = None


async def insert_follow(db: Connection, follow: FollowTerms, now: datetime) -> bool:
    """Insert a follow and count it on both sides. False if it existed."""
    await accounts.lock_counts(db, [follow.account_id, follow.target_account_id])
    if await db.fetchval(*INSERT.bind(follow, created_at=follow.created_at or now)) is None:
        return False
    await db.execute(COUNT, follow.account_id, follow.target_account_id, 1)
    return True


async def change_follow(db: Connection, account_id: int, target_id: int, change: ChangedTerms) -> bool:
    """Change the terms of a follow or of a request. False if there is neither."""
    switches = (change.show_reblogs, change.notify, change.set_languages)
    terms = (account_id, target_id, *switches, change.languages, change.uri)
    followed = await db.fetchval(CHANGE_FOLLOW, *terms)
    return followed is not None or await db.fetchval(CHANGE_REQUEST, *terms) is not None


async def target_of(db: Connection, account_id: int, uri: str) -> int | None:
    """Return the account that an account follows, or asks to follow, by the URI of the follow."""
    return await db.fetchval(FIND_TARGET, account_id, uri)


async def asking_with(db: Connection, target_id: int, uri: str) -> int | None:
    """Return who asks to follow an account, or follows it, by the URI of the follow."""
    return await db.fetchval(FIND_ASKING, target_id, uri)


async def exists(db: Connection, account_id: int, target_id: int) -> bool:
    """True if the account follows the other account. A request is no follow."""
    return await db.fetchval(EXISTS, account_id, target_id)


async def delete_follow(db: Connection, account_id: int, target_id: int) -> bool:
    """Delete a follow with its places in lists and its notification. False if there was none."""
    await accounts.lock_counts(db, [account_id, target_id])
    if await db.fetchval(DELETE, account_id, target_id) is None:
        return False
    await db.execute(COUNT, account_id, target_id, -1)
    await db.execute(FORGET, account_id, target_id)
    return True


async def ask_anew(db: Connection, id: int, account_id: int, target_id: int, uri: str, now: datetime) -> bool:
    """Make a follow a request with this id and URI, and give a request the URI. False if there is neither."""
    await accounts.lock_counts(db, [account_id, target_id])
    if await db.fetchval(ASK_ANEW, id, account_id, target_id, uri, now) is not None:
        await db.execute(COUNT, account_id, target_id, -1)
        return True
    return await db.fetchval(ASK_AGAIN, account_id, target_id, uri, now) is not None


async def local_followers(
    db: Connection, account_id: int, asked_before: datetime, after: int, limit: int
) -> list[int]:  # fmt: skip
    """Return the accounts of this server that follow an account, or have asked to before a time.

    They come in batches, as from `followers`.
    """
    return [row["account_id"] for row in await db.fetch(LOCAL_FOLLOWERS, account_id, after, limit, asked_before)]


async def remote(db: Connection, account_ids: Sequence[int], target_ids: Sequence[int]) -> list[RemoteFollow]:
    """Return the follows of these pairs, and the requests for them, that are between this server and others."""
    return [RemoteFollow(**row) for row in await db.fetch(REMOTE, list(account_ids), list(target_ids))]


async def from_domain(db: Connection, target_id: int, domain: str, limit: int) -> list[int]:
    """Return the accounts of a domain that follow an account or ask to."""
    return [row["account_id"] for row in await db.fetch(FROM_DOMAIN, target_id, domain, limit)]


async def followers_page(
    db: Connection, account_id: int, page: Page, *, without: Collection[int] = ()
) -> list[tuple[int, int]]:  # fmt: skip
    """Return followers, the latest first, as (paging id, account id).

    The reader decides which accounts to leave out.
    """
    return await page_of(db, PAGE_FOLLOWERS, page, account_id, list(without))


async def following_page(
    db: Connection, account_id: int, page: Page, *, without: Collection[int] = ()
) -> list[tuple[int, int]]:  # fmt: skip
    """Return the accounts that an account follows, in the same form."""
    return await page_of(db, PAGE_FOLLOWING, page, account_id, list(without))

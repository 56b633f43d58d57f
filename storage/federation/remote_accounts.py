"""Accounts of other servers, as their own servers describe them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .. import account_names
from ..accounts import COLUMNS, Account
from ..engine.database import Connection
from ..engine.json_values import JsonObject
from ..engine.sql import Statement, assigned

FIND = f"""
    SELECT {COLUMNS} FROM accounts a JOIN account_counts c ON c.account_id = a.id WHERE a.uri = ANY($1::text[])
"""

# Rows that have the URI or the handle. They are locked in the order of ids, as everywhere.
LOCK = """
    SELECT id, uri, username, domain, deleted_at, silenced_at, suspended_at FROM accounts
    WHERE uri = $1 OR (lower(username) = lower($2) AND lower(coalesce(domain, '')) = $3)
    ORDER BY id FOR NO KEY UPDATE
"""

# The states that domains are in are written into the rows of their accounts: no act on domains comes in between.
HOLD_BLOCKED_DOMAINS = "LOCK TABLE blocked_domains IN SHARE MODE"

INSERT = """
    WITH made AS (
        INSERT INTO accounts (id, username, domain, uri, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
        ON CONFLICT DO NOTHING RETURNING id
    )
    INSERT INTO account_counts (account_id) SELECT id FROM made RETURNING account_id
"""

NAME = """
    UPDATE accounts SET
        username = $2, domain = $3, silenced_at = coalesce(silenced_at, $4), suspended_at = coalesce(suspended_at, $5)
    WHERE id = $1
"""

# No URI and no handle of a living account looks so.
GIVE_UP_NAMES = """
    UPDATE accounts SET uri = left(uri, 2000) || '#' || id, username = left(username, 2000) || '#' || id
    WHERE id = ANY($1::bigint[])
"""

NAME_FOLLOWERS = "UPDATE follows SET from_domain = $2 WHERE account_id = $1 AND from_domain IS DISTINCT FROM $2"

DESCRIBED = """
    uri, url, inbox_url, shared_inbox_url, outbox_url, followers_url, following_url, featured_url, public_key,
    display_name, note, avatar_remote_url, avatar_description, header_remote_url, header_description, locked, bot,
    discoverable, indexable, memorial
"""

# A suspension by the account's own server counts while no other suspension is in force: see the migration.
UPDATE = Statement(f"""
    UPDATE accounts SET
        {assigned(DESCRIBED)}, "group" = :is_group,
        fields = :fields::jsonb, also_known_as = :also_known_as::text[],
        created_at = coalesce(:published_at, created_at),
        protocol = 'activitypub', note_source = '', fetched_at = :now, updated_at = :now,
        suspended_at = CASE
            WHEN suspended_at IS DISTINCT FROM suspended_at_home THEN suspended_at
            WHEN :suspended::boolean THEN coalesce(suspended_at, :now)
        END,
        suspended_at_home = CASE
            WHEN suspended_at IS NOT DISTINCT FROM suspended_at_home AND :suspended THEN coalesce(suspended_at, :now)
        END
    WHERE id = :id
""")

SET_EMOJIS = "UPDATE accounts SET emoji_ids = $2 WHERE id = $1 AND emoji_ids <> $2"

SET_MOVED = "UPDATE accounts SET moved_to_id = $2 WHERE id = $1 AND moved_to_id IS DISTINCT FROM $2 RETURNING id"

STORE_REPORTED_TOTALS = """
    UPDATE account_counts SET told_statuses = $2, told_followers = $3, told_following = $4 WHERE account_id = $1
"""

WITH_INBOX = f"""
    SELECT {COLUMNS} FROM accounts a JOIN account_counts c ON c.account_id = a.id
    WHERE a.domain = $1 AND a.inbox_url = $2 AND a.deleted_at IS NULL LIMIT 1
"""

TOUCH = "UPDATE accounts SET fetched_at = $2 WHERE id = $1"


@dataclass(frozen=True, slots=True)
class RemoteProfile:
    """An account as its own server describes it. The handle is proven to be the account's."""

    username: str
    domain: str
    uri: str
    url: str | None
    inbox_url: str
    shared_inbox_url: str | None
    outbox_url: str | None
    followers_url: str | None
    following_url: str | None
    featured_url: str | None
    public_key: str | None
    display_name: str
    note: str
    fields: list[JsonObject]
    avatar_remote_url: str | None
    avatar_description: str
    header_remote_url: str | None
    header_description: str
    locked: bool
    bot: bool
    is_group: bool
    discoverable: bool
    indexable: bool
    memorial: bool
    suspended: bool
    also_known_as: list[str]
    published_at: datetime | None
    emojis: tuple[tuple[str, str], ...] = ()  # the name and the address of each


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A row that has the URI or the handle of an account."""

    id: int
    uri: str
    username: str
    domain: str | None
    deleted_at: datetime | None
    silenced_at: datetime | None
    suspended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of statuses, followers and followed accounts as reported by the account's server; None if not reported."""

    statuses: int | None
    followers: int | None
    following: int | None


async def find(db: Connection, uri: str) -> Account | None:
    """Return the account with a URI, also a deleted or suspended account."""
    return (await find_many(db, [uri])).get(uri)


async def find_many(db: Connection, uris: Sequence[str]) -> dict[str, Account]:
    """Return accounts by their URIs, also deleted and suspended accounts."""
    return {row["uri"]: Account(*row.values()) for row in await db.fetch(FIND, list(uris))}


async def lock(db: Connection, uri: str, username: str, domain: str) -> list[KnownRow]:
    """Return the rows with this URI or this handle, at most one each, locked."""
    return [KnownRow(**row) for row in await db.fetch(LOCK, uri, username, domain)]


async def hold_blocked_domains(db: Connection) -> None:
    """Lock the blocks of domains against changes by staff until the end of the transaction."""
    await db.execute(HOLD_BLOCKED_DOMAINS)


async def insert(db: Connection, id: int, profile: RemoteProfile, now: datetime) -> bool:
    """Store an account of which only the names are known yet. False if another transaction was first."""
    return await db.fetchval(INSERT, id, profile.username, profile.domain, profile.uri, now) is not None


async def give_up_names(db: Connection, ids: Sequence[int]) -> None:
    """Give up the URIs and handles of deleted accounts, so that other accounts can have them."""
    await db.execute(GIVE_UP_NAMES, ids)


async def name(
    db: Connection,
    id: int,
    profile: RemoteProfile,
    silenced_at: datetime | None = None,
    suspended_at: datetime | None = None,
) -> None:
    """Give an account its handle, with the states that the domain in it is in."""
    await db.execute(NAME, id, profile.username, profile.domain, silenced_at, suspended_at)
    await db.execute(NAME_FOLLOWERS, id, profile.domain)


async def update(db: Connection, id: int, profile: RemoteProfile, now: datetime) -> None:
    """Store the profile that an account's server has sent, without the handle."""
    await db.execute(*UPDATE.bind(profile, id=id, now=now))
    await account_names.store(db, [id])


async def set_emojis(db: Connection, id: int, emoji_ids: Sequence[int]) -> None:
    """Set the emoji of its server that the profile of an account uses."""
    await db.execute(SET_EMOJIS, id, list(emoji_ids))


async def set_moved(db: Connection, id: int, moved_to_id: int | None) -> bool:
    """Set the account to which an account has moved. True if that is a change."""
    return await db.fetchval(SET_MOVED, id, moved_to_id) is not None


async def store_reported_totals(db: Connection, id: int, totals: Totals) -> None:
    await db.execute(STORE_REPORTED_TOTALS, id, totals.statuses, totals.followers, totals.following)


async def with_inbox(db: Connection, domain: str, inbox: str) -> Account | None:
    """Return the account of a domain that has an inbox of its own at a URL."""
    row = await db.fetchrow(WITH_INBOX, domain, inbox)
    return Account(*row.values()) if row is not None else None


async def touch(db: Connection, id: int, now: datetime) -> None:
    """Count an account as fetched, so that it is not fetched again soon."""
    await db.execute(TOUCH, id, now)

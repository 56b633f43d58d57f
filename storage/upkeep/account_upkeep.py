"""Accounts whose documents are to be fetched again, whose keys are to be replaced, or who may be gone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection

# Each condition that is not given holds for all. Accounts that wait to be fetched are left out.
TO_REFRESH = """
    SELECT a.id, a.username, a.domain, a.uri FROM accounts a
    WHERE a.domain IS NOT NULL AND a.protocol = 'activitypub' AND a.deleted_at IS NULL
        AND ($1::bigint IS NULL OR a.id = $1)
        AND ($2::text IS NULL OR a.domain = $2 OR right(a.domain, length($2) + 1) = '.' || $2)
        AND ($3::timestamptz IS NULL OR a.fetched_at IS NULL OR a.fetched_at < $3)
        AND NOT EXISTS (SELECT FROM outbox o WHERE o.partition_key = 'refresh/' || a.id)
    ORDER BY a.id
"""

# An account that staff has suspended keeps its row: it says so.
TO_CULL = """
    SELECT a.id, a.username, a.domain, a.uri FROM accounts a
    WHERE a.domain IS NOT NULL AND a.protocol = 'activitypub' AND a.deleted_at IS NULL AND a.id > $1
        AND a.suspended_at IS NOT DISTINCT FROM a.suspended_at_home
        AND ($2::text IS NULL OR a.domain = $2 OR right(a.domain, length($2) + 1) = '.' || $2)
        AND ($3 OR NOT (
            EXISTS (SELECT FROM follows WHERE account_id = a.id)
            OR EXISTS (SELECT FROM follows WHERE target_account_id = a.id)
            OR EXISTS (SELECT FROM follow_requests WHERE account_id = a.id)
            OR EXISTS (SELECT FROM follow_requests WHERE target_account_id = a.id)
            OR EXISTS (SELECT FROM blocks WHERE account_id = a.id)
            OR EXISTS (SELECT FROM blocks WHERE target_account_id = a.id)
            OR EXISTS (SELECT FROM mutes WHERE target_account_id = a.id)
        ))
    ORDER BY a.id LIMIT $4
"""

WITH_KEYS = """
    SELECT id, username FROM accounts
    WHERE domain IS NULL AND deleted_at IS NULL AND public_key IS NOT NULL AND ($1::bigint IS NULL OR id = $1)
        AND NOT EXISTS (SELECT FROM outbox o WHERE o.partition_key = 'rotate_key/' || accounts.id)
    ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class ForeignAccount:
    """An account of another server, by its names."""

    id: int
    username: str
    domain: str
    uri: str

    @property
    def acct(self) -> str:
        return f"{self.username}@{self.domain}"


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """An account of this server that has a key."""

    id: int
    username: str


async def to_refresh(
    db: Connection, id: int | None = None, domain: str | None = None, fetched_before: datetime | None = None
) -> list[ForeignAccount]:
    """Return accounts of other servers to fetch again: a single account, a domain's, or all not fetched for long."""
    return [ForeignAccount(**row) for row in await db.fetch(TO_REFRESH, id, domain, fetched_before)]


async def to_cull(
    db: Connection, after: int, domain: str | None, with_relations: bool, limit: int
) -> Sequence[ForeignAccount]:
    """Return accounts of other servers, in the order of their ids, that may be removed if they are gone.

    Accounts that users here follow, block or mute, or that follow or block users here, only `with_relations`.
    """
    return [ForeignAccount(**row) for row in await db.fetch(TO_CULL, after, domain, with_relations, limit)]


async def with_keys(db: Connection, id: int | None = None) -> list[KeyHolder]:
    """Return the accounts of this server that have a key, or a single account if it has a key."""
    return [KeyHolder(**row) for row in await db.fetch(WITH_KEYS, id)]

"""URIs of deleted things, and ids of undone activities that have not arrived: late arrivals are not stored."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ..engine.database import Connection

# Things that are undone or deleted before they come are remembered for this time: servers retry for some hours.
KEPT_FOR = timedelta(hours=6)

# In the order of the URIs, so that two transactions never wait for each other.
LOCK = """
    SELECT pg_advisory_xact_lock(key) FROM (
        SELECT DISTINCT hashtextextended('uri/' || uri, 0) AS key FROM unnest($1::text[]) AS uri ORDER BY key
    ) AS keys
"""

# Each actor has a tombstone of its own: whose thing the URI is, is not known before the thing comes. A tombstone that
# stays for good does not get an end again. The index has a digest, because two URIs can be too long for it.
INSERT = """
    INSERT INTO tombstones (uri, by_uri, created_at, expires_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (uri, md5(coalesce(by_uri, ''))) DO UPDATE SET
        expires_at = CASE WHEN tombstones.expires_at IS NULL THEN NULL ELSE excluded.expires_at END
"""

IS_DELETED = """
    SELECT EXISTS (
        SELECT FROM tombstones t JOIN accounts a ON a.uri = t.by_uri
        WHERE t.uri = $1 AND a.id = $2 AND (t.expires_at IS NULL OR t.expires_at > $3)
    )
"""

# A server may use a URI twice, against all rules.
IS_USED = """
    SELECT EXISTS (SELECT FROM follows WHERE uri = $1) OR EXISTS (SELECT FROM follow_requests WHERE uri = $1)
    OR EXISTS (SELECT FROM blocks WHERE uri = $1) OR EXISTS (SELECT FROM favourites WHERE uri = $1)
"""


async def lock(db: Connection, uris: Sequence[str]) -> None:
    """Lock URIs until the transaction ends, whether or not anything is stored under them."""
    await db.execute(LOCK, uris)


async def insert(db: Connection, uri: str, by: str, now: datetime, expires_at: datetime | None = None) -> None:
    """Remember that an actor has deleted or undone the thing with a URI. Lock the URI before."""
    await db.execute(INSERT, uri, by, now, expires_at)


async def is_deleted(db: Connection, uri: str, account_id: int, now: datetime) -> bool:
    """True if this account has deleted or undone the thing with a URI. Lock the URI before."""
    return await db.fetchval(IS_DELETED, uri, account_id, now)


async def unused(db: Connection, uri: str | None) -> str | None:
    """Return the URI, None if a follow, a block or a favourite has it already. Lock the URI before."""
    return None if uri is None or await db.fetchval(IS_USED, uri) else uri

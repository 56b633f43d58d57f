"""Other servers: how deliveries to them went, and how they want requests to be signed. A host without a row works."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ..engine.database import Connection

SignatureScheme: TypeAlias = Literal["cavage", "rfc9421"]

COLUMNS = "host, signature_scheme, failures, failing_since, closed_until, error, delivered_at, heard_at"

SCHEME = "SELECT signature_scheme FROM hosts WHERE host = $1"

REMEMBER_SCHEME = """
    INSERT INTO hosts (host, signature_scheme, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (host) DO UPDATE SET signature_scheme = excluded.signature_scheme
"""

FIND = f"SELECT {COLUMNS} FROM hosts WHERE host = $1"

STORE = """
    INSERT INTO hosts
        (host, signature_scheme, failures, failing_since, closed_until, error, delivered_at, heard_at, created_at)
    VALUES ($1, $2, $3, $4, $5, left($6, 2000), $7, $8, $9)
    ON CONFLICT (host) DO UPDATE SET
        signature_scheme = coalesce(excluded.signature_scheme, hosts.signature_scheme), failures = excluded.failures,
        failing_since = excluded.failing_since, closed_until = excluded.closed_until, error = excluded.error,
        delivered_at = excluded.delivered_at, heard_at = excluded.heard_at
"""

# All deliveries to a host that wait for another try are due now.
MAKE_DUE = """
    UPDATE outbox SET due_at = $2
    WHERE queue = $3 AND coalesce(group_key, partition_key) COLLATE "C" = ANY($1::text[]) AND due_at > $2
    AND claimed_until IS NULL
    RETURNING id
"""

# Waiting deliveries by host. The group of deliveries to followers is the host with a word after it.
WAITING = """
    SELECT split_part(coalesce(group_key, partition_key), ' ', 1) AS host, count(*) AS waiting,
        min(due_at) AS next_at, min(created_at) AS oldest_at
    FROM outbox WHERE queue = $1 GROUP BY 1
"""

OVERVIEW = f"""
    SELECT coalesce(h.host, w.host) AS host, h.signature_scheme, coalesce(h.failures, 0) AS failures, h.failing_since,
        h.closed_until, h.error, h.delivered_at, h.heard_at, coalesce(w.waiting, 0) AS waiting, w.next_at, w.oldest_at
    FROM hosts h FULL JOIN ({WAITING}) w ON w.host = h.host
    WHERE CASE WHEN $2::text IS NULL THEN h.failures > 0 OR w.waiting > 0 ELSE coalesce(h.host, w.host) = $2 END
    ORDER BY waiting DESC, host
"""

CLOSE_BREAKER = "UPDATE hosts SET failures = 0, failing_since = NULL, closed_until = NULL, error = NULL WHERE host = $1"

DROP = """
    WITH gone AS (
        DELETE FROM outbox WHERE queue = $2 AND coalesce(group_key, partition_key) COLLATE "C" = ANY($1::text[])
        RETURNING (payload->>'activity_id')::bigint AS id
    )
    SELECT id, count(*) AS deliveries FROM gone GROUP BY id ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Host:
    """The known facts about another server.

    `failures` are deliveries in a row that got no answer, or that of a server in trouble. Nothing is sent there before
    `closed_until`. `heard_at` is the time of a signed request from there.
    """

    host: str
    signature_scheme: SignatureScheme | None = None
    failures: int = 0
    failing_since: datetime | None = None
    closed_until: datetime | None = None
    error: str | None = None
    delivered_at: datetime | None = None
    heard_at: datetime | None = None


async def scheme_of(db: Connection, host: str) -> SignatureScheme:
    """Return the kind of signature that a host reads, as far as it is known. Nearly all read `cavage`."""
    return await db.fetchval(SCHEME, host) or "cavage"


async def remember_scheme(db: Connection, host: str, scheme: SignatureScheme, now: datetime) -> None:
    """Remember the signature scheme that a host has accepted, after it refused the other scheme."""
    await db.execute(REMEMBER_SCHEME, host, scheme, now)


@dataclass(frozen=True, slots=True)
class HostOverview(Host):
    """A host with its waiting deliveries: their number, the time of the next try, and the age of the oldest."""

    waiting: int = 0
    next_at: datetime | None = None
    oldest_at: datetime | None = None


async def find(db: Connection, host: str) -> Host | None:
    row = await db.fetchrow(FIND, host)
    return Host(**row) if row is not None else None


async def store(db: Connection, host: Host, now: datetime) -> None:
    """Store the known facts about a host."""
    await db.execute(
        STORE, host.host, host.signature_scheme, host.failures, host.failing_since, host.closed_until, host.error,
        host.delivered_at, host.heard_at, now,
    )  # fmt: skip


async def make_due(db: Connection, groups: Sequence[str], queue: str, now: datetime) -> int:
    """Make the waiting effects of some groups due. Return their number."""
    return len(await db.fetch(MAKE_DUE, list(groups), now, queue))


async def overview(db: Connection, queue: str, host: str | None = None) -> list[HostOverview]:
    """Return hosts with failed or waiting deliveries, the most waiting first. With `host`, return that host alone."""
    return [HostOverview(**row) for row in await db.fetch(OVERVIEW, queue, host)]


async def close_breaker(db: Connection, host: str) -> None:
    """Forget that deliveries to a host failed."""
    await db.execute(CLOSE_BREAKER, host)


async def drop(db: Connection, groups: Sequence[str], queue: str) -> dict[int, int]:
    """Delete all deliveries of some groups. Return how many there were of each activity."""
    return {row["id"]: row["deliveries"] for row in await db.fetch(DROP, list(groups), queue)}

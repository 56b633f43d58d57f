"""Statistics of the whole server. They are counted by each call: call rarely, and cache the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection

# By jumps over the index of handles, one for each domain.
KNOWN = """
    WITH RECURSIVE known (domain) AS (
        (SELECT domain FROM accounts WHERE domain IS NOT NULL ORDER BY domain LIMIT 1)
        UNION ALL
        SELECT (SELECT a.domain FROM accounts a WHERE a.domain > known.domain ORDER BY a.domain LIMIT 1)
        FROM known WHERE known.domain IS NOT NULL
    )
"""

PEERS = f"{KNOWN} SELECT domain FROM known WHERE domain IS NOT NULL ORDER BY domain"

# Ids contain the time, so a period is a range of the primary key.
ACTIVITY = """
    SELECT
        (SELECT count(*) FROM statuses s WHERE s.local AND s.deleted_at IS NULL AND s.id >= low AND s.id < high),
        (SELECT count(DISTINCT t.account_id) FROM access_tokens t WHERE t.id >= low AND t.id < high),
        (SELECT count(*) FROM users u WHERE u.account_id >= low AND u.account_id < high)
    FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS id_range (low, high, place) ORDER BY place
"""

# The sum over the narrow counts of local users instead of a count over statuses.
COUNT = f"""
    {KNOWN}
    SELECT
        count(*) FILTER (WHERE u.approved_at IS NOT NULL) AS users,
        coalesce(sum(c.statuses), 0)::bigint AS statuses,
        count(*) FILTER (WHERE c.last_status_at > $1) AS active,
        (SELECT count(domain) FROM known) AS domains
    FROM users u JOIN account_counts c ON c.account_id = u.account_id
"""

CONTACT = """
    SELECT u.account_id FROM users u JOIN accounts a ON a.id = u.account_id
    WHERE u.role = ANY('{owner,admin}') AND u.disabled_at IS NULL
    AND u.confirmed_at IS NOT NULL AND u.approved_at IS NOT NULL AND a.suspended_at IS NULL
    ORDER BY u.role = 'owner' DESC, u.account_id LIMIT 1
"""

HAS_USERS = "SELECT to_regclass('users') IS NOT NULL"

NEWEST_LOCAL_URI = """
    SELECT a.uri FROM users u JOIN accounts a ON a.id = u.account_id ORDER BY u.account_id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class InstanceNumbers:
    """The numbers of users, of their statuses, of known domains, and of users who wrote since a given day."""

    users: int
    statuses: int
    domains: int
    active: int


@dataclass(frozen=True, slots=True)
class InstanceActivity:
    """The numbers of local statuses, of sign-ins and of new users in a period."""

    statuses: int
    logins: int
    registrations: int


async def numbers(db: Connection, active_since: datetime) -> InstanceNumbers:
    return InstanceNumbers(**await db.fetchrow(COUNT, active_since))


async def contact_account_id(db: Connection) -> int | None:
    """Return the first owner who may sign in, or else the first such admin, for the instance page."""
    return await db.fetchval(CONTACT)


async def peers(db: Connection) -> list[str]:
    """Return the domains of all other known servers."""
    return [row["domain"] for row in await db.fetch(PEERS)]


async def activity(db: Connection, id_ranges: Sequence[tuple[int, int]]) -> list[InstanceActivity]:
    """Return the activity in ranges of ids, each without its end."""
    rows = await db.fetch(ACTIVITY, [low for low, _ in id_ranges], [high for _, high in id_ranges])
    return [InstanceActivity(*row.values()) for row in rows]


async def newest_local_uri(db: Connection) -> str | None:
    """Return the URI of the newest local account. None if there is none, or no schema yet."""
    return await db.fetchval(NEWEST_LOCAL_URI) if await db.fetchval(HAS_USERS) else None

"""Numbers about the whole server. They are counted, not kept: ask now and then, and keep the answer."""

from dataclasses import dataclass
from datetime import datetime

from .engine import Connection

# The sum over the narrow counts of local users instead of a count over statuses; domains by leaps over their index.
COUNT = """
    WITH RECURSIVE known (domain) AS (
        (SELECT domain FROM accounts WHERE domain IS NOT NULL ORDER BY domain LIMIT 1)
        UNION ALL
        SELECT (SELECT a.domain FROM accounts a WHERE a.domain > known.domain ORDER BY a.domain LIMIT 1)
        FROM known WHERE known.domain IS NOT NULL
    )
    SELECT
        count(*) FILTER (WHERE u.approved_at IS NOT NULL) AS users,
        coalesce(sum(c.statuses), 0)::bigint AS statuses,
        count(*) FILTER (WHERE c.last_status_at > $1) AS active,
        (SELECT count(domain) FROM known) AS domains
    FROM users u JOIN account_counts c ON c.account_id = u.account_id
"""

CONTACT = """
    SELECT account_id FROM users WHERE role = ANY('{owner,admin}') AND disabled_at IS NULL
    ORDER BY role = 'owner' DESC, account_id LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Users, statuses by them, known domains, and users who wrote since a given day."""

    users: int
    statuses: int
    domains: int
    active: int


async def numbers(db: Connection, active_since: datetime) -> Numbers:
    return Numbers(**await db.fetchrow(COUNT, active_since))


async def contact_account_id(db: Connection) -> int | None:
    """The first owner, or else the first admin: whom the instance page names."""
    return await db.fetchval(CONTACT)

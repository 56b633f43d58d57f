"""Counts of the work that waits for staff. Counting ends at `MOST`, so that it costs the same however much waits."""

from dataclasses import dataclass

from ..engine.database import Connection

MOST = 1000

WAITING = """
    SELECT
        (SELECT count(*) FROM (SELECT FROM reports WHERE action_taken_at IS NULL LIMIT $1) AS waiting) AS reports,
        (SELECT count(*) FROM (
            SELECT FROM users WHERE approved_at IS NULL AND confirmed_at IS NOT NULL LIMIT $1
        ) AS waiting) AS sign_ups,
        (SELECT count(*) FROM (
            SELECT FROM appeals WHERE approved_at IS NULL AND rejected_at IS NULL LIMIT $1
        ) AS waiting) AS appeals,
        (SELECT count(*) FROM (SELECT FROM dead_letters LIMIT $1) AS waiting) AS dead_letters
"""

# The table has a row for each known server, and few rows with failing deliveries.
FAILING_HOSTS = """
    SELECT host, failures, error FROM hosts WHERE failures > 0 ORDER BY failures DESC, host LIMIT $1
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The counts. A number that is `MOST` means so many or more."""

    reports: int
    sign_ups: int
    appeals: int
    dead_letters: int


@dataclass(frozen=True, slots=True)
class FailingHost:
    """A server that deliveries fail to reach."""

    host: str
    failures: int
    error: str | None


async def waiting(db: Connection) -> Waiting:
    """Return the counts of the work that waits for staff."""
    row = await db.fetchrow(WAITING, MOST)
    if row is None:
        raise LookupError("PostgreSQL counted nothing")
    return Waiting(**row)


async def failing_hosts(db: Connection, most: int) -> list[FailingHost]:
    """Return servers that deliveries fail to reach, the worst first."""
    return [FailingHost(**row) for row in await db.fetch(FAILING_HOSTS, most)]

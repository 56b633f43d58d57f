"""The number of effects that wait in the outbox, and their delay: for metrics."""

from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection

# Rows of a kind that is due in the future wait for their time: polls, statuses for later, tries after a failure.
# Counting reads rows, so it stops at some number: the exact length of a longer backlog says nothing more.
EFFECTS = """
    SELECT kind, count(*) FILTER (WHERE due_at <= $1) AS due, count(*) FILTER (WHERE due_at > $1) AS later,
        coalesce(extract(epoch FROM $1 - least(min(due_at), $1)), 0)::float8 AS late_for
    FROM (SELECT kind, greatest(due_at, created_at) AS due_at FROM outbox LIMIT $2) AS counted
    GROUP BY kind ORDER BY kind
"""
DEAD_LETTERS = "SELECT count(*) FROM (SELECT FROM dead_letters LIMIT $1) AS counted"


@dataclass(frozen=True, slots=True)
class EffectBacklog:
    """The effects of a kind: how many are due, how many at a later time, and seconds since the first was due."""

    kind: str
    due: int
    later: int
    late_for: float

    @property
    def by_state(self) -> tuple[tuple[str, int], tuple[str, int]]:
        return ("due", self.due), ("later", self.later)


@dataclass(frozen=True, slots=True)
class Backlog:
    """The effects that wait in the outbox, and the messages that are parked."""

    effects: tuple[EffectBacklog, ...]
    dead_letters: int


async def find_backlog(db: Connection, now: datetime, most: int) -> Backlog:
    """Count at most so many effects, and so many messages."""
    effects = tuple(EffectBacklog(**row) for row in await db.fetch(EFFECTS, now, most))
    return Backlog(effects, await db.fetchval(DEAD_LETTERS, most))

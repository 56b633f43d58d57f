"""The outbox for operators: waiting and failed effects, and how to retry or delete them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection, Row, replaced
from ..outbox import StoredEffect

COLUMNS = """
    id, queue, kind, partition_key AS key, coalesce(group_key, partition_key) AS "group", payload, request_id, causes,
    attempts, error, greatest(due_at, created_at) AS due_at, created_at, claimed_until
"""

CHOSEN = """
    ($1::bigint[] IS NULL OR id = ANY($1)) AND ($2::text IS NULL OR queue = $2) AND ($3::text IS NULL OR kind = $3)
    AND (NOT $4 OR error IS NOT NULL)
"""

LIST = f"SELECT {COLUMNS} FROM outbox WHERE {CHOSEN} ORDER BY id LIMIT $5"

# Rows that a relay has claimed are running, and are left to it, here and below. A row without an error was
# not tried: it waits for its time, such as the end of a poll.
RETRY = f"""
    UPDATE outbox SET due_at = $5
    WHERE {CHOSEN} AND error IS NOT NULL AND due_at > $5 AND (claimed_until IS NULL OR claimed_until <= $5)
    RETURNING id
"""

LOCK = f"""
    SELECT {COLUMNS} FROM outbox WHERE {CHOSEN} AND (claimed_until IS NULL OR claimed_until <= $5)
    ORDER BY id LIMIT $6 FOR UPDATE SKIP LOCKED
"""
KEPT = "SELECT id FROM outbox WHERE id = ANY($1::bigint[]) ORDER BY id"
UNCLAIM = "UPDATE outbox SET claimed_by = NULL, claimed_until = NULL WHERE id = ANY($1::bigint[])"


@dataclass(frozen=True, slots=True)
class ChosenEffects:
    """A choice of effects by ids, queue, kind or failure. A None or False chooses all."""

    ids: Sequence[int] | None = None
    queue: str | None = None
    kind: str | None = None
    failed: bool = False

    @property
    def values(self) -> tuple[object, ...]:
        return None if self.ids is None else list(self.ids), self.queue, self.kind, self.failed


@dataclass(frozen=True, slots=True)
class WaitingEffect(StoredEffect):
    """An effect of the outbox. `error` is of its last try. Until `claimed_until` it is running."""

    queue: str
    error: str | None
    due_at: datetime
    claimed_until: datetime | None


async def waiting(db: Connection, chosen: ChosenEffects, limit: int) -> list[WaitingEffect]:
    """Return effects, the oldest first."""
    return [_effect(row) for row in await db.fetch(LIST, *chosen.values, limit)]


async def lock(db: Connection, chosen: ChosenEffects, now: datetime, limit: int) -> list[WaitingEffect]:
    """Return effects that no relay is running, locked. Claims of relays that are gone are ended."""
    found = [_effect(row) for row in await db.fetch(LOCK, *chosen.values, now, limit)]
    if gone := [effect.id for effect in found if effect.claimed_until is not None]:
        await db.execute(UNCLAIM, gone)
    return found


async def kept(db: Connection, ids: Sequence[int]) -> list[int]:
    """Return which of these effects still exist, the oldest first."""
    return [row["id"] for row in await db.fetch(KEPT, list(ids))]


async def retry(db: Connection, chosen: ChosenEffects, now: datetime) -> list[int]:
    """Make effects due that failed and wait for another try. Return their ids."""
    return [row["id"] for row in await db.fetch(RETRY, *chosen.values, now)]


def _effect(row: Row) -> WaitingEffect:
    return WaitingEffect(**replaced(row, causes=tuple(row["causes"])))

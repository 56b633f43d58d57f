"""The outbox: effects that a transaction promised, until the relay has carried them out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from .engine.database import Connection, Row, replaced

# Causes travel as JSON texts: an array of arrays would have to be a rectangle.
INSERT_MANY = """
    INSERT INTO outbox (id, kind, partition_key, payload, due_at, request_id, causes, created_at)
    SELECT id, kind, key, payload, coalesce(due_at, $8), request_id,
        ARRAY(SELECT jsonb_array_elements_text(causes::jsonb)), $8
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::jsonb[], $5::timestamptz[], $6::text[], $7::text[])
        AS new (id, kind, key, payload, due_at, request_id, causes)
"""

# In order within a partition: a row waits while an older one of its partition waits for another try. Each reader of the
# outbox carries out its own kinds, and no other.
DUE = """
    SELECT id, kind, partition_key AS key, payload, request_id, causes, attempts, created_at FROM outbox o
    WHERE due_at <= $1 AND id <> ALL($2::bigint[]) AND kind = ANY($4::text[])
    AND NOT EXISTS (
        SELECT FROM outbox earlier
        WHERE earlier.partition_key = o.partition_key AND earlier.id < o.id AND earlier.due_at > $1
    )
    ORDER BY id LIMIT $3
    FOR UPDATE SKIP LOCKED
"""

# The same for a reader that works on several lanes at once: those of one lane are carried out one after the other. The
# reminders of an account are one lane, whatever their keys, because its actor takes one at a time. The first of each
# lane come first, so that no lane can keep another one out.
DUE_BY_LANE = """
    SELECT id, kind, partition_key AS key, payload, request_id, causes, attempts, created_at, lane FROM (
        SELECT o.*, lane, row_number() OVER (PARTITION BY lane ORDER BY id) AS place
        FROM outbox o, LATERAL (
            SELECT CASE kind WHEN 'reminder' THEN 'reminder/' || (payload->>'account') ELSE partition_key END
        ) lanes (lane)
        WHERE due_at <= $1 AND id <> ALL($2::bigint[]) AND kind = ANY($3::text[]) AND lane <> ALL($4::text[])
        AND NOT EXISTS (
            SELECT FROM outbox earlier
            WHERE earlier.partition_key = o.partition_key AND earlier.id < o.id AND earlier.due_at > $1
        )
    ) waiting
    WHERE place <= $5 ORDER BY place, id LIMIT $6
"""

LEFT_BY = """
    SELECT id, kind, partition_key AS key, payload, request_id, causes, attempts, created_at FROM outbox
    WHERE partition_key = $1 AND due_at <= $2 AND id <> ALL($3::bigint[]) ORDER BY id
"""

DELETE_MANY = "DELETE FROM outbox WHERE id = ANY($1::bigint[])"

FORGET = "DELETE FROM outbox WHERE partition_key = $1"

FAIL = "UPDATE outbox SET attempts = attempts + 1, due_at = $2, error = left($3, 2000) WHERE id = $1"


@dataclass(frozen=True, slots=True)
class NewEffect:
    """An effect to carry out after commit. Effects with one key keep their order; without a time it is due at once."""

    id: int
    kind: str
    key: str
    payload: dict[str, Any]
    due_at: datetime | None = None
    request_id: str | None = None
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DueEffect:
    """An effect that is due, perhaps not for the first time."""

    id: int
    kind: str
    key: str
    payload: dict[str, Any]
    request_id: str | None
    causes: tuple[str, ...]
    attempts: int
    created_at: datetime
    lane: str = ""  # effects of different lanes may be carried out at the same time


async def insert_many(db: Connection, effects: Sequence[NewEffect], now: datetime) -> None:
    """Promise effects in the transaction that makes them true."""
    if effects:
        columns = zip(
            *(
                (e.id, e.kind, e.key, e.payload, e.due_at, e.request_id, orjson.dumps(e.causes).decode())
                for e in effects
            ),
            strict=True,
        )
        await db.execute(INSERT_MANY, *map(list, columns), now)


async def due(
    db: Connection, now: datetime, limit: int, exclude_ids: Collection[int], kinds: Collection[str]
) -> list[DueEffect]:
    """Effects of these kinds to carry out now, oldest first, without those already in hand."""
    rows = await db.fetch(DUE, now, list(exclude_ids), limit, list(kinds))
    return [_effect(row) for row in rows]


async def due_by_lane(
    db: Connection,
    now: datetime,
    kinds: Collection[str],
    *,
    exclude_ids: Collection[int],
    exclude_lanes: Collection[str],
    in_a_row: int,
    limit: int,
) -> list[DueEffect]:
    """Effects of these kinds to carry out now: of each lane at most `in_a_row`, oldest first."""
    rows = await db.fetch(DUE_BY_LANE, now, list(exclude_ids), list(kinds), list(exclude_lanes), in_a_row, limit)
    return [_effect(row) for row in rows]


async def left_by(db: Connection, key: str, now: datetime, exclude_ids: Collection[int] = ()) -> list[DueEffect]:
    """The effects of one partition to carry out now, oldest first, without those already in hand."""
    rows = await db.fetch(LEFT_BY, key, now, list(exclude_ids))
    return [_effect(row) for row in rows]


async def delete_many(db: Connection, ids: Sequence[int]) -> None:
    """Forget effects that are done."""
    await db.execute(DELETE_MANY, ids)


async def forget(db: Connection, key: str) -> None:
    """Take back what was promised under a key, because it is not to happen any more, or at another time."""
    await db.execute(FORGET, key)


async def fail(db: Connection, id: int, due_at: datetime, error: str) -> None:
    """Put an effect off until another try."""
    await db.execute(FAIL, id, due_at, error)


def _effect(row: Row) -> DueEffect:
    return DueEffect(**replaced(row, causes=tuple(row["causes"])))

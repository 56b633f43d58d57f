"""The log of the changes that streams show, for clients that were interrupted.

A row names what changed, as the row of the outbox did that it replaces. Ids are positions: they rise in the order in
which changes were told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .engine.json_values import JsonObject

# Takes the place of outbox rows that were told. $3 are the kinds that streams show; all others are only deleted.
LOG_TOLD = """
    WITH told AS (
        DELETE FROM outbox USING unnest($1::bigint[], $2::bigint[]) AS done (id, position) WHERE outbox.id = done.id
        RETURNING done.position, outbox.kind, outbox.payload
    )
    INSERT INTO stream_log (id, kind, payload)
    SELECT position, kind, payload FROM told WHERE kind = ANY($3::text[])
"""

# Also what is committed and was not told yet. In one statement, because the second becomes the first.
AFTER = """
    SELECT id AS position, kind, payload FROM stream_log WHERE id > $1
    UNION ALL
    (SELECT NULL, kind, payload FROM outbox WHERE kind = ANY($2::text[]) AND due_at <= $3 ORDER BY id)
    ORDER BY position NULLS LAST LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change, by the kind and the payload of its effect. Without a position it may not have been told."""

    position: int | None
    kind: str
    payload: JsonObject


async def log_told(db: Connection, positions: Mapping[int, int], kinds: Sequence[str]) -> None:
    """Delete outbox rows that were told, and log those of these kinds. `positions` are by the ids of the rows."""
    await db.execute(LOG_TOLD, list(positions), list(positions.values()), kinds)


async def after(db: Connection, position: int, kinds: Sequence[str], now: datetime, limit: int) -> list[LoggedChange]:
    """Return the changes after a position, in order, and then those of these kinds that were not logged yet."""
    return [LoggedChange(**row) for row in await db.fetch(AFTER, position, kinds, now, limit)]

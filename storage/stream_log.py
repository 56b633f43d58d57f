"""The log of the changes that streams show, for clients that were interrupted.

A row has the kind and payload of the outbox row that it replaces. Ids are positions: they rise in the order in which
changes were published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .engine.json_values import JsonObject

# Replaces outbox rows that were published. $3 are the kinds that streams show; rows of other kinds are only deleted.
LOG_PUBLISHED = """
    WITH published AS (
        DELETE FROM outbox USING unnest($1::bigint[], $2::bigint[]) AS done (id, position) WHERE outbox.id = done.id
        RETURNING done.position, outbox.kind, outbox.payload
    )
    INSERT INTO stream_log (id, kind, payload)
    SELECT position, kind, payload FROM published WHERE kind = ANY($3::text[])
"""

# Also changes that are committed and not published yet. One statement, because a publication moves rows from `outbox`
# to `stream_log`.
AFTER = """
    SELECT id AS position, kind, payload FROM stream_log WHERE id > $1
    UNION ALL
    (SELECT NULL, kind, payload FROM outbox WHERE kind = ANY($2::text[]) AND due_at <= $3 ORDER BY id)
    ORDER BY position NULLS LAST LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change, by the kind and the payload of its effect. Without a position it may not have been published yet."""

    position: int | None
    kind: str
    payload: JsonObject


async def log_published(db: Connection, positions: Mapping[int, int], kinds: Sequence[str]) -> None:
    """Delete published outbox rows, and log the rows of these kinds. `positions` are by the ids of the rows."""
    await db.execute(LOG_PUBLISHED, list(positions), list(positions.values()), kinds)


async def after(db: Connection, position: int, kinds: Sequence[str], now: datetime, limit: int) -> list[LoggedChange]:
    """Return the logged changes after a position, in order, and then changes of these kinds not logged yet."""
    return [LoggedChange(**row) for row in await db.fetch(AFTER, position, kinds, now, limit)]

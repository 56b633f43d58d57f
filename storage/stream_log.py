"""The log of the changes that streams show, for clients that were interrupted.

A row has the kind and payload of the outbox row that it replaces. Ids are positions: they rise in the order in which
changes were published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Removed
from .engine.json_values import JsonObject
from .engine.nodes import REMOVED

# Replaces outbox rows that were published. $3 are the kinds that streams show; rows of other kinds are only deleted.
#
# A node of a cluster that was removed must write nothing: the others have passed its positions. So this locks its row
# against the removal, or waits for it and finds none. $4 is null if the node is alone.
LOG_PUBLISHED = """
    WITH writer AS MATERIALIZED (
        SELECT FROM nodes WHERE incarnation = $4::bigint FOR KEY SHARE
    ), published AS (
        DELETE FROM outbox USING unnest($1::bigint[], $2::bigint[]) AS done (id, position)
        WHERE outbox.id = done.id AND ($4::bigint IS NULL OR EXISTS (SELECT FROM writer))
        RETURNING done.position, outbox.kind, outbox.payload
    ), logged AS (
        INSERT INTO stream_log (id, kind, payload)
        SELECT position, kind, payload FROM published WHERE kind = ANY($3::text[])
    )
    SELECT $4::bigint IS NULL OR EXISTS (SELECT FROM writer)
"""

# Also changes that are committed and not published yet. One statement, because a publication moves rows from `outbox`
# to `stream_log`. A row that a relay has tried was due, and may be published: it is due again by another node's clock.
AFTER = """
    SELECT id AS position, kind, payload FROM stream_log WHERE id > $1
    UNION ALL
    (SELECT NULL, kind, payload FROM outbox WHERE kind = ANY($2::text[]) AND (due_at <= $3 OR tried) ORDER BY id)
    ORDER BY position NULLS LAST LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change, by the kind and the payload of its effect. Without a position it may not have been published yet."""

    position: int | None
    kind: str
    payload: JsonObject


async def log_published(
    db: Connection, positions: Mapping[int, int], kinds: Sequence[str], incarnation: int | None
) -> None:
    """Delete published outbox rows, and log the rows of these kinds. `positions` are by the ids of the rows.

    Raises Removed if the other nodes of a cluster have removed this node, which has the incarnation.
    """
    if not await db.fetchval(LOG_PUBLISHED, list(positions), list(positions.values()), kinds, incarnation):
        raise Removed(REMOVED)


async def after(db: Connection, position: int, kinds: Sequence[str], now: datetime, limit: int) -> list[LoggedChange]:
    """Return the logged changes after a position, in order, and then changes of these kinds not logged yet."""
    return [LoggedChange(**row) for row in await db.fetch(AFTER, position, kinds, now, limit)]

"""Read markers: how far an account has read its home timeline and its notifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .engine.database import Connection

Timeline = Literal["home", "notifications"]

COLUMNS = "timeline, last_read_id, version, updated_at"

FIND = f"SELECT {COLUMNS} FROM markers WHERE account_id = $1 AND timeline = ANY($2::text[]) ORDER BY timeline"

# If the client names a version, the marker must still have this version. A missing marker has version 0.
MOVE = f"""
    INSERT INTO markers (account_id, timeline, last_read_id, updated_at)
    SELECT $1, $2, $3, $5 WHERE coalesce($4::integer, 0) = 0 OR EXISTS (
        SELECT FROM markers WHERE account_id = $1 AND timeline = $2
    )
    ON CONFLICT (account_id, timeline) DO UPDATE SET
        last_read_id = excluded.last_read_id, version = markers.version + 1, updated_at = excluded.updated_at
    WHERE $4 IS NULL OR markers.version = $4
    RETURNING {COLUMNS}
"""


@dataclass(frozen=True, slots=True)
class Marker:
    """A position in a timeline, and the number of times it was moved."""

    timeline: Timeline
    last_read_id: int
    version: int
    updated_at: datetime


async def find(db: Connection, account_id: int, timelines: Sequence[str]) -> list[Marker]:
    return [Marker(**row) for row in await db.fetch(FIND, account_id, timelines)]


async def move(
    db: Connection, account_id: int, timeline: Timeline, last_read_id: int, seen: int | None, now: datetime
) -> Marker | None:
    """Move a marker, in either direction. None if its version is not `seen`, because another device was first."""
    row = await db.fetchrow(MOVE, account_id, timeline, last_read_id, seen, now)
    return Marker(**row) if row is not None else None

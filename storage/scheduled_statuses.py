"""Scheduled statuses, with the media that are reserved for them."""

from dataclasses import dataclass
from datetime import datetime

from . import media
from .engine.database import Connection, Row, replaced
from .engine.json_values import JsonObject
from .engine.sql import Statement, insert_into
from .upkeep.paging import Page, both_ways, rows_of

# In the order of ScheduledStatus's fields.
COLUMNS = f"""
    s.id, s.account_id, s.scheduled_at, s.params, s.media_ids, s.application_id,
    CASE WHEN s.media_ids <> '{{}}' THEN (
        SELECT jsonb_agg(to_jsonb(m) ORDER BY array_position(s.media_ids, m.id))
        FROM (SELECT {media.COLUMNS} FROM media_attachments WHERE scheduled_status_id = s.id) AS m
    ) END AS media
"""

FIND = f"SELECT {COLUMNS} FROM scheduled_statuses s WHERE s.id = $1 AND s.account_id = $2"

PAGE = both_ways(f"""
    SELECT {COLUMNS} FROM scheduled_statuses s
    WHERE s.account_id = $1 AND s.id < $2 AND s.id > $3 ORDER BY s.id {{order}} LIMIT $4
""")

INSERT = Statement(
    insert_into("scheduled_statuses", "id, account_id, scheduled_at, params, media_ids, application_id, created_at")
)

COUNT = """
    SELECT count(*) AS total, count(*) FILTER (
        WHERE scheduled_at >= $2 AND scheduled_at < $2::timestamptz + interval '24 hours'
    ) AS that_day
    FROM scheduled_statuses WHERE account_id = $1 AND id <> $3
"""

MOVE = "UPDATE scheduled_statuses SET scheduled_at = $3 WHERE id = $1 AND account_id = $2 RETURNING id"

DELETE = """
    WITH gone AS (
        DELETE FROM scheduled_statuses WHERE id = $1 AND account_id = $2 RETURNING id
    ), released AS (
        UPDATE media_attachments m SET scheduled_status_id = NULL, updated_at = $3
        FROM gone WHERE m.scheduled_status_id = gone.id
    )
    SELECT id FROM gone
"""


@dataclass(frozen=True, slots=True)
class NewScheduledStatus:
    """A scheduled status when it is first stored. Its media are locked."""

    id: int
    account_id: int
    scheduled_at: datetime
    params: JsonObject
    media_ids: tuple[int, ...] = ()
    application_id: int | None = None


@dataclass(frozen=True, slots=True)
class ScheduledStatus:
    """A scheduled status."""

    id: int
    account_id: int
    scheduled_at: datetime
    params: JsonObject
    media_ids: tuple[int, ...]
    application_id: int | None
    media: tuple[media.Media, ...]


async def find(db: Connection, id: int, account_id: int) -> ScheduledStatus | None:
    """Return a scheduled status of the account."""
    row = await db.fetchrow(FIND, id, account_id)
    return _scheduled(row) if row is not None else None


async def page(db: Connection, account_id: int, page: Page) -> list[ScheduledStatus]:
    """Return an account's scheduled statuses, the newest first."""
    return [_scheduled(row) for row in await rows_of(db, PAGE, page, account_id)]


async def count(db: Connection, account_id: int, at: datetime, *, but: int = 0) -> tuple[int, int]:
    """Return how many an account has, and how many are for the (UTC) day of `at`, without the one with the id `but`."""
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    row = await db.fetchrow(COUNT, account_id, day, but)
    return row["total"], row["that_day"]


async def insert(db: Connection, new: NewScheduledStatus, now: datetime) -> None:
    """Store a scheduled status, and reserve its media."""
    await db.execute(*INSERT.bind(new, created_at=now))
    if new.media_ids:
        await media.reserve(db, new.media_ids, new.id, now)


async def move(db: Connection, id: int, account_id: int, at: datetime) -> bool:
    """Set another time. False if the account has none with this id."""
    return await db.fetchval(MOVE, id, account_id, at) is not None


async def delete(db: Connection, id: int, account_id: int, now: datetime) -> bool:
    """Delete it and free its media, because it is cancelled or published. False if there is none."""
    return await db.fetchval(DELETE, id, account_id, now) is not None


def _scheduled(row: Row) -> ScheduledStatus:
    attached = tuple(media.media_of(attachment) for attachment in row["media"] or ())
    return ScheduledStatus(**replaced(row, media_ids=tuple(row["media_ids"]), media=attached))

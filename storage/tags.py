"""Hashtags and the statuses that have them, newest first. The caller decides which statuses the viewer may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row
from .statuses import StatusTag
from .timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, TimelineEntry, entry_of
from .upkeep.paging import Page, both_ways, rows_of

# For each wanted tag the few rows that can be on the page, in the order of status_tags; then the page of them.
PAGE = both_ways(f"""
    WITH wanted AS (
        SELECT id FROM tags WHERE name = ANY($4::text[])
    ), page AS (
        SELECT DISTINCT own.id FROM wanted CROSS JOIN LATERAL (
            SELECT s.id FROM status_tags st
            JOIN statuses s ON s.id = st.status_id
            JOIN accounts a ON a.id = s.account_id
            WHERE st.tag_id = wanted.id AND st.status_id < $1 AND st.status_id > $2
            AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
            AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
            AND ($7::boolean IS NULL OR s.local = $7) AND (NOT $8::boolean OR s.media_ids <> '{{}}')
            AND $5::text[] <@ ARRAY(
                SELECT t.name FROM status_tags its JOIN tags t ON t.id = its.tag_id WHERE its.status_id = s.id
            )
            AND NOT EXISTS (
                SELECT FROM status_tags its JOIN tags t ON t.id = its.tag_id
                WHERE its.status_id = s.id AND t.name = ANY($6::text[])
            )
            ORDER BY st.status_id {{order}} LIMIT $3
        ) AS own
        ORDER BY own.id {{order}} LIMIT $3
    )
    SELECT {ENTRY_COLUMNS} FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
""")

USES = """
    SELECT
        st.tag_id, width_bucket(st.status_id, $2::bigint[]) - 1 AS period, count(*) AS uses,
        count(DISTINCT s.account_id) AS accounts
    FROM status_tags st JOIN statuses s ON s.id = st.status_id
    WHERE st.tag_id = ANY($1::bigint[]) AND st.status_id >= ($2::bigint[])[1]
    AND s.visibility = 'public' AND s.deleted_at IS NULL GROUP BY 1, 2
"""

COLUMNS = "id, name, display_name, usable, listable, trendable, reviewed_at"

CHANGE = """
    UPDATE tags SET display_name = coalesce($3, display_name), usable = coalesce($4, usable),
        listable = coalesce($5, listable), trendable = coalesce($6, trendable), reviewed_at = $2
    WHERE id = $1 RETURNING name
"""

FIND_MANY = f"SELECT {COLUMNS} FROM tags WHERE id = ANY($1::bigint[])"

ALL = both_ways(f"SELECT {COLUMNS} FROM tags WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3")

FIND = "SELECT id, name, display_name FROM tags WHERE name = $1"

KNOWN = "SELECT name FROM tags WHERE name = ANY($1::text[])"

FIND_BY_ID = "SELECT id, name, display_name FROM tags WHERE id = $1"

ENSURE = """
    INSERT INTO tags (id, name, display_name, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING id, name, display_name
"""

REVIEW = "UPDATE tags SET trendable = $2, reviewed_at = $3 WHERE name = $1 RETURNING id"


@dataclass(frozen=True, slots=True)
class ReviewedTag:
    """A hashtag with the decisions of staff. `trendable` is None until staff decide."""

    tag: StatusTag
    usable: bool
    listable: bool
    trendable: bool | None
    reviewed_at: datetime | None


async def entries(
    db: Connection,
    names: Sequence[str],
    page: Page,
    *,
    all_of: Sequence[str] = (),
    none_of: Sequence[str] = (),
    local: bool | None = None,
    only_media: bool = False,
) -> list[TimelineEntry]:
    """Return public statuses with any tag of `names`, all of `all_of` and none of `none_of`, including replies.

    `local` restricts to this server or, if false, to all others. Silenced authors are left out.
    """
    rows = await db.fetch(PAGE[page.oldest_first], *page.bounds, names, all_of, none_of, local, only_media)
    return [entry_of(row) for row in rows]


async def uses(db: Connection, ids: Sequence[int], begins: Sequence[int]) -> dict[int, dict[int, tuple[int, int]]]:
    """Return public uses and accounts of each tag by periods. The n-th period begins at the id `begins[n]`."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for row in await db.fetch(USES, ids, begins):
        found.setdefault(row["tag_id"], {})[row["period"]] = row["uses"], row["accounts"]
    return found


async def find(db: Connection, name: str) -> StatusTag | None:
    """Return the hashtag with this name."""
    return _tag(await db.fetchrow(FIND, name))


async def known_of(db: Connection, names: Sequence[str]) -> set[str]:
    """Return which of these names are hashtags here."""
    return {row["name"] for row in await db.fetch(KNOWN, list(names))}


async def find_by_id(db: Connection, id: int) -> StatusTag | None:
    return _tag(await db.fetchrow(FIND_BY_ID, id))


async def ensure(db: Connection, new: StatusTag, now: datetime) -> StatusTag:
    """Return the hashtag with this name. If there is none, `new` is stored."""
    return StatusTag(*(await db.fetchrow(ENSURE, new.id, new.name, new.display_name, now)).values())


async def review(db: Connection, name: str, now: datetime, *, trendable: bool) -> bool:
    """Store whether a hashtag may trend. False if the hashtag does not exist."""
    return await db.fetchval(REVIEW, name, trendable, now) is not None


async def change(
    db: Connection, id: int, now: datetime, *, display_name: str | None, usable: bool | None, listable: bool | None,
    trendable: bool | None,
) -> str | None:  # fmt: skip
    """Change the permissions of a hashtag, and return its name. None if the hashtag does not exist.

    An argument that is None leaves its value as it is.
    """
    return await db.fetchval(CHANGE, id, now, display_name, usable, listable, trendable)


async def reviewed(db: Connection, ids: Sequence[int]) -> dict[int, ReviewedTag]:
    """Return hashtags by id."""
    return {row["id"]: _reviewed(row) for row in await db.fetch(FIND_MANY, ids)}


async def all_reviewed(db: Connection, page: Page) -> list[ReviewedTag]:
    """Return all hashtags, the newest first."""
    return [_reviewed(row) for row in await rows_of(db, ALL, page)]


def _reviewed(row: Row) -> ReviewedTag:
    id, name, display_name, *decided = row.values()
    return ReviewedTag(StatusTag(id, name, display_name), *decided)


def _tag(row: Row | None) -> StatusTag | None:
    return StatusTag(*row.values()) if row is not None else None

"""Grouped notifications: notifications of one type about one subject, shown as a single entry.

A page counts groups. It is the range from its first notification to the first of its last group. The part of a group
beyond that range is shown again on the next page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row, replaced
from .notifications import ALIVE, alive
from .upkeep.paging import Page

UNGROUPED = "ungrouped-"
SAMPLE = 8  # accounts named for a group
MOST_MEMBERS = 1000  # listed accounts of one group

# Notifications of types that the client does not want grouped each make a group.
KEY = "CASE WHEN n.type = ANY($8::text[]) THEN n.group_key ELSE 'ungrouped-' || n.id::text END"

WANTED = f"""
    n.account_id = $1 AND n.id < $2 AND n.id > $3
    AND ($5::text[] IS NULL OR n.type = ANY($5)) AND n.type <> ALL($6::text[])
    AND ($7::bigint IS NULL OR n.from_account_id = $7) AND ($9 OR NOT n.filtered) AND {ALIVE}
"""

FACTS = f"""
    count(*) AS count, max(g.id) AS most_recent_id,
    (array_agg(g.from_account_id ORDER BY g.id DESC))[1:{SAMPLE}] AS account_ids
"""

# From group to group: the next notification that is in no group so far.
PAGE = f"""
    WITH RECURSIVE page (id, key, keys) AS (
        (
            SELECT n.id, {KEY}, ARRAY[{KEY}] FROM notifications n WHERE {WANTED}
            ORDER BY n.id {{order}} LIMIT least($4, 1)
        )
        UNION ALL
        SELECT next.id, next.key, page.keys || next.key FROM page CROSS JOIN LATERAL (
            SELECT n.id, {KEY} AS key FROM notifications n
            WHERE {WANTED} AND n.id {{beyond}} page.id AND {KEY} <> ALL(page.keys)
            ORDER BY n.id {{order}} LIMIT 1
        ) AS next
        WHERE cardinality(page.keys) < $4
    ), page_range AS (
        SELECT min(id) AS low, max(id) AS high FROM page
    )
    SELECT page.id AS page_id, page.key, n.type, n.status_id, n.report_id, n.strike_id, facts.* FROM page
    JOIN notifications n ON n.id = page.id
    CROSS JOIN page_range
    CROSS JOIN LATERAL (
        SELECT {FACTS},
            min(g.id) FILTER (WHERE g.id BETWEEN low AND high) AS page_min_id,
            max(g.id) FILTER (WHERE g.id BETWEEN low AND high) AS page_max_id,
            max(g.created_at) FILTER (WHERE g.id BETWEEN low AND high) AS latest_at
        FROM notifications g
        WHERE g.account_id = $1 AND g.group_key = n.group_key AND (page.key = n.group_key OR g.id = n.id)
        AND ($9 OR NOT g.filtered) AND {alive("g")}
    ) AS facts
    ORDER BY page.id DESC
"""
PAGES = (PAGE.format(order="DESC", beyond="<"), PAGE.format(order="ASC", beyond=">"))

# By its group key, or by the key of a single notification, which also finds a filtered notification.
MEMBER = "g.account_id = $1 AND ((g.group_key = $2 AND NOT g.filtered) OR g.id = $3::bigint)"

ONE = f"""
    SELECT NULL::bigint AS page_id, $2 AS key, min(g.type) AS type, min(g.status_id) AS status_id,
        min(g.report_id) AS report_id, min(g.strike_id) AS strike_id, {FACTS},
        NULL::bigint AS page_min_id, NULL::bigint AS page_max_id, NULL::timestamptz AS latest_at
    FROM notifications g WHERE {MEMBER} AND {alive("g")} HAVING count(*) > 0
"""

MEMBERS = f"""
    SELECT g.from_account_id FROM notifications g WHERE {MEMBER} AND {alive("g")} ORDER BY g.id DESC LIMIT $4
"""

DISMISS = f"DELETE FROM notifications g WHERE {MEMBER}"

UNREAD = f"""
    SELECT count(*) FROM (
        SELECT DISTINCT {KEY} FROM notifications n WHERE {WANTED} AND n.id > coalesce((
            SELECT last_read_id FROM markers WHERE account_id = $1 AND timeline = 'notifications'
        ), 0)
        LIMIT $4
    ) AS unread
"""


@dataclass(frozen=True, slots=True)
class Group:
    """A group, its latest accounts, and its part on the page, where `page_id` is its first notification."""

    page_id: int | None
    key: str
    type: str
    status_id: int | None
    report_id: int | None
    strike_id: int | None
    count: int
    most_recent_id: int
    account_ids: tuple[int, ...]
    page_min_id: int | None
    page_max_id: int | None
    latest_at: datetime | None


@dataclass(frozen=True, slots=True)
class NotificationFilter:
    """The requested notifications. `types` None means every type."""

    types: Sequence[str] | None = None
    exclude_types: Sequence[str] = ()
    from_account_id: int | None = None
    grouped_types: Sequence[str] = ()
    include_filtered: bool = False


async def page(
    db: Connection,
    account_id: int,
    wanted: NotificationFilter,
    page: Page,
) -> list[Group]:
    """Return a page of groups, newest first."""
    rows = await db.fetch(
        PAGES[page.oldest_first], account_id, *page.bounds,
        wanted.types, wanted.exclude_types, wanted.from_account_id, wanted.grouped_types, wanted.include_filtered,
    )  # fmt: skip
    return [_group(row) for row in rows]


async def find(db: Connection, account_id: int, key: str) -> Group | None:
    row = await db.fetchrow(ONE, account_id, key, _own_id(key))
    return _group(row) if row is not None else None


async def members(db: Connection, account_id: int, key: str) -> list[int]:
    """Return the accounts that caused a group's notifications, the latest first."""
    rows = await db.fetch(MEMBERS, account_id, key, _own_id(key), MOST_MEMBERS)
    return list(dict.fromkeys(row["from_account_id"] for row in rows))


async def dismiss(db: Connection, account_id: int, key: str) -> None:
    await db.execute(DISMISS, account_id, key, _own_id(key))


async def unread(db: Connection, account_id: int, wanted: NotificationFilter, limit: int) -> int:
    """Return the number of groups with unread notifications, counted up to `limit`."""
    return await db.fetchval(
        UNREAD, account_id, *Page(limit).bounds,
        wanted.types, wanted.exclude_types, wanted.from_account_id, wanted.grouped_types, wanted.include_filtered,
    )  # fmt: skip


def _own_id(key: str) -> int | None:
    digits = key.removeprefix(UNGROUPED)
    return int(digits) if digits != key and digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def _group(row: Row) -> Group:
    return Group(**replaced(row, account_ids=tuple(row["account_ids"])))

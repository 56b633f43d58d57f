"""Entries of timelines and threads: the columns of a status that decide which accounts see it."""

import sys
from dataclasses import dataclass
from typing import Any

from .engine.database import Connection, Row

# In the order of TimelineEntry's fields.
ENTRY_COLUMNS = """
    s.id, s.account_id, s.visibility, s.in_reply_to_id, s.in_reply_to_account_id, s.reblog_of_id,
    r.account_id AS reblog_account_id, coalesce(r.mentioned_ids, s.mentioned_ids) AS mentioned_ids,
    coalesce(r.language, s.language) AS language, s.local, coalesce(r.media_ids, s.media_ids) <> '{}' AS has_media,
    a.domain AS account_domain, ra.domain AS reblog_domain, a.silenced_at IS NOT NULL AS silenced,
    a.suspended_at IS NOT NULL OR a.deleted_at IS NOT NULL OR ra.suspended_at IS NOT NULL OR ra.deleted_at IS NOT NULL
        AS withdrawn
"""

MENTIONED = 7  # the position of mentioned_ids among them
# The positions of texts with few different values. They are interned, so that all entries share them.
INTERNED = (2, 8, 11, 12)

# The last field, for queries that need it.
ENTRY_TAGS = (
    "ARRAY(SELECT t.name FROM status_tags st JOIN tags t ON t.id = st.tag_id WHERE st.status_id = s.id) AS tags"
)
TAGS = 15

ENTRY_JOINS = """
    JOIN accounts a ON a.id = s.account_id
    LEFT JOIN statuses r ON r.id = s.reblog_of_id
    LEFT JOIN accounts ra ON ra.id = r.account_id
"""


def listed_entries(page: str) -> str:
    """Return the query for the entries of a list that is paged by ids of its own, not by the ids of statuses.

    `page` is a query for (id, status_id) with the order and the limit.
    """
    return f"""
        WITH page AS ({page})
        SELECT {ENTRY_COLUMNS}, page.id AS page_id FROM page JOIN statuses s ON s.id = page.status_id {ENTRY_JOINS}
        ORDER BY page.id {{order}}
    """


# Climbs through deleted statuses, which are left out at the end: a deleted status does not end the thread.
ANCESTORS = f"""
    WITH RECURSIVE above (id, parent, depth) AS (
        SELECT id, in_reply_to_id, 0 FROM statuses WHERE id = $1
        UNION ALL
        SELECT s.id, s.in_reply_to_id, above.depth + 1 FROM above JOIN statuses s ON s.id = above.parent
        WHERE above.depth < $2
    )
    SELECT {ENTRY_COLUMNS} FROM above JOIN statuses s ON s.id = above.id {ENTRY_JOINS}
    WHERE above.depth > 0 AND s.deleted_at IS NULL ORDER BY above.depth DESC
"""

# The LIMIT inside stops the recursion, breadth first: a thread of ten thousand costs no more than its nearest `limit`.
DESCENDANTS = f"""
    WITH RECURSIVE below (id, path) AS (
        SELECT id, ARRAY[id] FROM statuses WHERE in_reply_to_id = $1
        UNION ALL
        SELECT s.id, below.path || s.id FROM below JOIN statuses s ON s.in_reply_to_id = below.id
        WHERE cardinality(below.path) < $3 AND s.id <> ALL(below.path)
    ), nearest AS (SELECT * FROM below LIMIT $2)
    SELECT {ENTRY_COLUMNS} FROM nearest JOIN statuses s ON s.id = nearest.id {ENTRY_JOINS}
    WHERE s.deleted_at IS NULL ORDER BY nearest.path
"""


# The nearest replies that everybody may see, oldest first.
REPLIES = f"""
    SELECT {ENTRY_COLUMNS} FROM statuses s {ENTRY_JOINS}
    WHERE s.in_reply_to_id = $1 AND s.id > $2 AND s.deleted_at IS NULL AND s.visibility IN ('public', 'unlisted')
    ORDER BY s.id LIMIT $3
"""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """The columns of a status that decide on which timelines it is.

    A boost has its original's mentions, language and media. It is `withdrawn` if its author, or the author of the
    boosted status, is suspended or deleted. `tags` are the names of its hashtags, empty for boosts;
    only the query for home timelines of accounts that follow hashtags reads them.
    """

    id: int
    account_id: int
    visibility: str
    in_reply_to_id: int | None
    in_reply_to_account_id: int | None
    reblog_of_id: int | None
    reblog_account_id: int | None
    mentioned_ids: tuple[int, ...]
    language: str | None
    local: bool
    has_media: bool
    account_domain: str | None = None
    reblog_domain: str | None = None
    silenced: bool = False
    withdrawn: bool = False
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """An entry of a list that has paging ids of its own, as favourites and bookmarks have."""

    id: int
    entry: TimelineEntry


async def ancestors(db: Connection, id: int, limit: int) -> list[TimelineEntry]:
    """Return the statuses above a status in its thread: its parent, the parent's parent, and so on. Oldest first."""
    return [entry_of(row) for row in await db.fetch(ANCESTORS, id, limit)]


async def descendants(db: Connection, id: int, limit: int, depth: int) -> list[TimelineEntry]:
    """Return the replies below a status in the order of the thread: each right after its parent."""
    return [entry_of(row) for row in await db.fetch(DESCENDANTS, id, limit, depth)]


async def replies(db: Connection, id: int, above: int, limit: int) -> list[TimelineEntry]:
    """Return the public and unlisted replies to a status, with ids above `above`, oldest first."""
    return [entry_of(row) for row in await db.fetch(REPLIES, id, above, limit)]


def entry_of(row: Row) -> TimelineEntry:
    """Return the entry of a row with ENTRY_COLUMNS."""
    return TimelineEntry(*_values(row))


def tagged_entry_of(row: Row) -> TimelineEntry:
    """Return the entry of a row with ENTRY_COLUMNS and ENTRY_TAGS."""
    values = _values(row)
    values[TAGS] = tuple(values[TAGS])
    return TimelineEntry(*values)


def listed_entry_of(row: Row) -> ListedEntry:
    """Return the entry of a row of `listed_entries`."""
    *_, id = values = _values(row)
    return ListedEntry(id, TimelineEntry(*values[:TAGS]))


def _values(row: Row) -> list[Any]:  # of the types of the columns
    values = list(row.values())
    values[MENTIONED] = tuple(values[MENTIONED])
    for place in INTERNED:
        if values[place] is not None:
            values[place] = sys.intern(values[place])
    return values

"""The entries of timelines, newest first. The caller decides which entries the viewer may see."""

from .engine.database import Connection
from .timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, ENTRY_TAGS, TimelineEntry, entry_of, tagged_entry_of
from .upkeep.paging import Page, both_ways

# For each followed author and the account itself the rows that can be on the page, by statuses_author.
# Few rows of each author are on a page of many authors. So a few of each are read first. If they would fill the page,
# the last one of such a page bounds what can be on it, and only the rows on this side of it are read.
BY_AUTHORS = """
    WITH authors AS MATERIALIZED (
        SELECT target_account_id AS id FROM follows WHERE account_id = $1 UNION ALL SELECT $1
    ), few AS (
        SELECT own.id FROM authors CROSS JOIN LATERAL (
            SELECT s.id FROM statuses s
            WHERE s.account_id = authors.id AND s.deleted_at IS NULL AND s.id < $2 AND s.id > $3
            ORDER BY s.id {order} LIMIT 2 + 2 * $4 / (SELECT count(*) FROM authors)
        ) AS own
    ), far AS MATERIALIZED (
        SELECT id FROM few ORDER BY id {order} OFFSET $4 - 1 LIMIT 1
    ), page AS (
        SELECT own.id FROM authors CROSS JOIN LATERAL (
            SELECT s.id FROM statuses s
            WHERE s.account_id = authors.id AND s.deleted_at IS NULL AND s.id < {below} AND s.id > {above}
            ORDER BY s.id {order} LIMIT $4
        ) AS own
"""


def _by_authors(sql: str) -> tuple[str, str]:
    """Return a query with BY_AUTHORS, newest first and oldest first."""
    newest, oldest = both_ways(sql)
    return (
        newest.replace("{below}", "$2").replace("{above}", "coalesce((SELECT id - 1 FROM far), $3)"),
        oldest.replace("{below}", "coalesce((SELECT id + 1 FROM far), $2)").replace("{above}", "$3"),
    )


HOME = _by_authors(f"""
    {BY_AUTHORS}
        ORDER BY own.id {{order}} LIMIT $4
    )
    SELECT {ENTRY_COLUMNS} FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
""")

# HOME, and for each followed hashtag the few rows that can be on the page. UNION keeps one row of
# a status that is there for several reasons.
HOME_WITH_TAGS = _by_authors(f"""
    {BY_AUTHORS}
        UNION
        SELECT tagged.id FROM followed_tags f CROSS JOIN LATERAL (
            SELECT s.id FROM status_tags st
            JOIN statuses s ON s.id = st.status_id
            JOIN accounts a ON a.id = s.account_id
            WHERE st.tag_id = f.tag_id AND st.status_id < $2 AND st.status_id > $3
            AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
            AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
            ORDER BY st.status_id {{order}} LIMIT $4
        ) AS tagged
        WHERE f.account_id = $1
        ORDER BY id {{order}} LIMIT $4
    )
    SELECT {ENTRY_COLUMNS}, {ENTRY_TAGS}
    FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
""")

PUBLIC_ROWS = """
    s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
    AND (s.in_reply_to_id IS NULL OR s.in_reply_to_account_id = s.account_id)
    AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
"""


def _public(condition: str) -> tuple[str, str]:
    """Return one query for each kind of public timeline, so that each has a plan of its own."""
    return both_ways(f"""
        WITH page AS (
            SELECT s.id FROM statuses s JOIN accounts a ON a.id = s.account_id
            WHERE {PUBLIC_ROWS} AND s.id < $1 AND s.id > $2 AND {condition}
            ORDER BY s.id {{order}} LIMIT $3
        )
        SELECT {ENTRY_COLUMNS} FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
    """)


PUBLIC: dict[tuple[bool | None, bool], tuple[str, str]] = {
    (None, False): _public("true"),
    (True, False): _public("s.local = true"),
    (False, False): _public("s.local = false"),
    (None, True): _public("s.media_ids <> '{}'"),
    (True, True): _public("s.local = true AND s.media_ids <> '{}'"),
    (False, True): _public("s.local = false AND s.media_ids <> '{}'"),
}

# Statuses whose authors opted in to be found.
LINK = both_ways(f"""
    WITH page AS (
        SELECT s.id FROM status_cards sc
        JOIN statuses s ON s.id = sc.status_id
        JOIN accounts a ON a.id = s.account_id
        WHERE sc.card_id = $1 AND sc.status_id < $2 AND sc.status_id > $3
        AND s.visibility = 'public' AND s.deleted_at IS NULL AND a.discoverable
        AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
        ORDER BY sc.status_id {{order}} LIMIT $4
    )
    SELECT {ENTRY_COLUMNS} FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
""")

ACCOUNT_PAGE = """
    SELECT s.id FROM statuses s
    WHERE s.account_id = $1 AND s.deleted_at IS NULL AND s.id < $2 AND s.id > $3
    AND (s.visibility = ANY($5::text[]) OR $9::bigint = ANY(s.mentioned_ids))
    AND (NOT $6 OR s.in_reply_to_id IS NULL OR s.in_reply_to_account_id = s.account_id)
    AND (NOT $7 OR s.reblog_of_id IS NULL)
    AND ($8::text IS NULL OR EXISTS (
        SELECT FROM status_tags st JOIN tags t ON t.id = st.tag_id WHERE st.status_id = s.id AND t.name = $8
    ))
"""


def _account(condition: str) -> tuple[str, str]:
    return both_ways(f"""
        WITH page AS ({ACCOUNT_PAGE} AND {condition} ORDER BY s.id {{order}} LIMIT $4)
        SELECT {ENTRY_COLUMNS} FROM page JOIN statuses s ON s.id = page.id {ENTRY_JOINS} ORDER BY s.id DESC
    """)


ACCOUNT = _account("true")
ACCOUNT_MEDIA = _account("s.reblog_of_id IS NULL AND s.media_ids <> '{}'")

PINNED = f"""
    SELECT {ENTRY_COLUMNS} FROM pins p JOIN statuses s ON s.id = p.status_id {ENTRY_JOINS}
    WHERE p.account_id = $1 AND s.deleted_at IS NULL ORDER BY p.id DESC
"""

EVERY_VISIBILITY = ("public", "unlisted", "private", "direct")


async def home_entries(
    db: Connection,
    account_id: int,
    page: Page,
) -> list[TimelineEntry]:
    """Return statuses and boosts of the account and the accounts it follows, also direct ones. Callers filter them."""
    rows = await db.fetch(HOME[page.oldest_first], account_id, *page.bounds)
    return [entry_of(row) for row in rows]


async def home_entries_with_tags(db: Connection, account_id: int, page: Page) -> list[TimelineEntry]:
    """Return the home entries of an account that follows hashtags, with the public statuses that have these hashtags.

    Only these entries have `tags`.
    """
    rows = await db.fetch(HOME_WITH_TAGS[page.oldest_first], account_id, *page.bounds)
    return [tagged_entry_of(row) for row in rows]


async def public_entries(
    db: Connection,
    page: Page,
    *,
    local: bool = False,
    remote: bool = False,
    only_media: bool = False,
) -> list[TimelineEntry]:
    """Return public statuses without boosts and without replies to others. Silenced authors are left out."""
    origin = None if local == remote else local
    query = PUBLIC[origin, only_media][page.oldest_first]
    return [entry_of(row) for row in await db.fetch(query, *page.bounds)]


async def link_entries(db: Connection, card_id: int, page: Page) -> list[TimelineEntry]:
    """Return public statuses that show a card, also answers, by authors who opted in to be found."""
    return [entry_of(row) for row in await db.fetch(LINK[page.oldest_first], card_id, *page.bounds)]


async def account_entries(
    db: Connection,
    account_id: int,
    page: Page,
    *,
    visibilities: tuple[str, ...] = EVERY_VISIBILITY,
    exclude_replies: bool = False,
    exclude_reblogs: bool = False,
    only_media: bool = False,
    tagged: str | None = None,
    viewer: int | None = None,
) -> list[TimelineEntry]:
    """Return a page of a profile: statuses of these visibilities, and statuses that mention `viewer`."""
    query = (ACCOUNT_MEDIA if only_media else ACCOUNT)[page.oldest_first]
    rows = await db.fetch(
        query, account_id, *page.bounds, visibilities, exclude_replies, exclude_reblogs, tagged, viewer
    )
    return [entry_of(row) for row in rows]


async def pinned_entries(db: Connection, account_id: int) -> list[TimelineEntry]:
    return [entry_of(row) for row in await db.fetch(PINNED, account_id)]

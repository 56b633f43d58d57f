"""What many accounts use or respond to in these days. Each call reads the posts of a week: call rarely, and cache the
result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .preview_cards import PreviewCard, card_of
from .statuses import StatusTag

# Rows that one call reads at most, the newest first.
MOST_USES = 200_000
MOST_POSTS = 50_000

# Statuses whose accounts are counted, and the newest favourites and boosts of each that are looked at.
MOST_CANDIDATES = 500
MOST_RESPONSES = 1_000

# Statuses with hashtags are read by the index of status_tags, so that all others cost nothing. The subquery is no join,
# and neither is what has a LIMIT, so that each is a look into an index.
TAGS = f"""
    WITH used AS (
        SELECT st.tag_id, st.status_id FROM status_tags st WHERE st.status_id >= ($1::bigint[])[1]
        ORDER BY st.status_id DESC LIMIT {MOST_USES}
    ), uses AS (
        SELECT tag_id, width_bucket(status_id, $1::bigint[]) AS day, (
            SELECT s.account_id FROM statuses s JOIN accounts a ON a.id = s.account_id
            WHERE s.id = used.status_id AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
            AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
        ) AS account_id FROM used
    ), daily AS (
        SELECT tag_id, day, count(DISTINCT account_id) AS accounts FROM uses GROUP BY tag_id, day
    ), wide AS (
        SELECT tag_id, array_agg(day) AS days, array_agg(accounts) AS accounts FROM daily
        GROUP BY tag_id HAVING max(accounts) >= $2
    )
    SELECT t.id, t.name, t.display_name, t.trendable, wide.days, wide.accounts
    FROM wide CROSS JOIN LATERAL (
        SELECT * FROM tags WHERE tags.id = wide.tag_id LIMIT 1
    ) AS t
    WHERE t.usable AND t.listable AND t.trendable IS DISTINCT FROM false
"""

# The same of links whose pages have cards, by their statuses without a warning.
LINKS = f"""
    WITH used AS (
        SELECT sc.card_id, sc.status_id FROM status_cards sc WHERE sc.status_id >= ($1::bigint[])[1]
        ORDER BY sc.status_id DESC LIMIT {MOST_USES}
    ), uses AS (
        SELECT card_id, width_bucket(status_id, $1::bigint[]) AS day, (
            SELECT s.account_id FROM statuses s JOIN accounts a ON a.id = s.account_id
            WHERE s.id = used.status_id AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
            AND NOT s.sensitive AND s.spoiler_text = ''
            AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
        ) AS account_id FROM used
    ), daily AS (
        SELECT card_id, day, count(account_id) AS uses, count(DISTINCT account_id) AS accounts
        FROM uses GROUP BY card_id, day
    ), wide AS (
        SELECT card_id, array_agg(day) AS days, array_agg(uses) AS uses, array_agg(accounts) AS accounts FROM daily
        GROUP BY card_id HAVING max(accounts) >= $2
    )
    SELECT to_jsonb(card) AS card, wide.days, wide.uses, wide.accounts
    FROM wide CROSS JOIN LATERAL (
        SELECT * FROM preview_cards WHERE preview_cards.id = wide.card_id LIMIT 1
    ) AS card
"""

# As on the public timelines, by authors who opted in to be found, without posts behind a warning. The counts say which
# posts are worth a look at the accounts. Again the subqueries are no joins.
STATUSES = f"""
    WITH latest AS (
        SELECT s.id, s.account_id, s.created_at FROM statuses s
        WHERE s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
        AND (s.in_reply_to_id IS NULL OR s.in_reply_to_account_id = s.account_id)
        AND s.id >= $1 AND NOT s.sensitive AND s.spoiler_text = ''
        ORDER BY s.id DESC LIMIT {MOST_POSTS}
    ), counted AS (
        SELECT latest.*, (
            SELECT c.favourites + c.reblogs FROM status_counts c WHERE c.status_id = latest.id
        ) AS responses FROM latest
    ), candidates AS (
        SELECT * FROM counted WHERE responses >= $2 AND (
            SELECT a.discoverable AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
            FROM accounts a WHERE a.id = counted.account_id
        ) ORDER BY responses DESC, id DESC LIMIT {MOST_CANDIDATES}
    )
    SELECT c.id, c.created_at, (
        SELECT count(*) FROM (
            (
                SELECT f.account_id FROM favourites f WHERE f.status_id = c.id
                ORDER BY f.id DESC LIMIT {MOST_RESPONSES}
            ) UNION (
                SELECT r.account_id FROM statuses r WHERE r.reblog_of_id = c.id AND r.deleted_at IS NULL
                ORDER BY r.id DESC LIMIT {MOST_RESPONSES}
            )
        ) AS response WHERE response.account_id <> c.account_id AND (
            SELECT a.silenced_at IS NULL AND a.suspended_at IS NULL FROM accounts a WHERE a.id = response.account_id
        )
    ) AS accounts FROM candidates c
"""


@dataclass(frozen=True, slots=True)
class UsedTag:
    """A hashtag with the number of accounts that used it on each day, today first.

    `trendable` is None if staff has not reviewed it.
    """

    tag: StatusTag
    trendable: bool | None
    accounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UsedLink:
    """A card with the numbers of statuses that link to its page, and of their accounts, on each day, today first."""

    card: PreviewCard
    uses: tuple[int, ...]
    accounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NotedStatus:
    """A status and the number of other accounts that favourited or boosted it."""

    id: int
    created_at: datetime
    accounts: int


async def used_tags(db: Connection, begins: Sequence[int], least: int) -> list[UsedTag]:
    """Return the hashtags that `least` accounts used on one of these days, without those that staff has forbidden.

    The n-th day begins at the id `begins[n]`; the last one is today.
    """
    return [
        UsedTag(
            StatusTag(row["id"], row["name"], row["display_name"]), row["trendable"],
            _newest_first(len(begins), row["days"], row["accounts"]),
        )
        for row in await db.fetch(TAGS, begins, least)
    ]  # fmt: skip


async def used_links(db: Connection, begins: Sequence[int], least: int) -> list[UsedLink]:
    """Return the links that `least` accounts used on one of these days."""
    return [
        UsedLink(
            card_of(row["card"]), _newest_first(len(begins), row["days"], row["uses"]),
            _newest_first(len(begins), row["days"], row["accounts"]),
        )
        for row in await db.fetch(LINKS, begins, least)
    ]  # fmt: skip


async def noted_statuses(db: Connection, since: int, least: int) -> list[NotedStatus]:
    """Return the public statuses since an id to which other accounts responded, `least` times or more."""
    return [NotedStatus(*row.values()) for row in await db.fetch(STATUSES, since, least)]


def _newest_first(count: int, days: Sequence[int], accounts: Sequence[int]) -> tuple[int, ...]:
    by_day = dict(zip(days, accounts, strict=True))  # days count from 1
    return tuple(by_day.get(day, 0) for day in range(count, 0, -1))

"""What many accounts use or respond to in these days. Each call reads the posts of a week: call rarely, and cache the
result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .preview_cards import PreviewCard, card_of
from .statuses import StatusTag

# One account has a limited part in what is read, so that no flood of posts displaces the posts of others: the newest
# public statuses of an account on each day, their hashtags, and for trends of statuses the newest ones of the week, of
# which those with most responses are taken. The accounts are those that posted last.
MOST_AUTHORS = 20_000
MOST_POSTS = 100
MOST_USES = 200
MOST_LATEST = 200
MOST_RESPONDED = 20

# Statuses whose accounts are counted, and the newest favourites and boosts of each that are looked at.
MOST_CANDIDATES = 500
MOST_RESPONSES = 1_000

# The subquery is no join, and neither is what has a LIMIT, so that each is a look into an index.
AUTHORS = f"""
    SELECT c.account_id AS id FROM account_counts c WHERE c.last_status_at >= $3 AND (
        SELECT {{wanted}} a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
        FROM accounts a WHERE a.id = c.account_id
    ) ORDER BY c.last_status_at DESC NULLS LAST, c.account_id DESC LIMIT {MOST_AUTHORS}
"""

# The public statuses of one of the `authors` on one of the `days`.
POSTS = f"""
    SELECT s.id FROM statuses s
    WHERE s.account_id = authors.id AND s.id >= days.first_id
    AND s.id < coalesce(($1::bigint[])[days.day + 1], {2**63 - 1})
    AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL {{wanted}}
    ORDER BY s.id DESC LIMIT {MOST_POSTS}
"""

TAGS = f"""
    WITH authors AS ({AUTHORS.format(wanted="")}), uses AS (
        SELECT DISTINCT used.tag_id, days.day, authors.id
        FROM authors CROSS JOIN unnest($1::bigint[]) WITH ORDINALITY AS days (first_id, day) CROSS JOIN LATERAL (
            SELECT st.tag_id FROM ({POSTS.format(wanted="")}) AS post JOIN status_tags st ON st.status_id = post.id
            ORDER BY st.status_id DESC, st.tag_id LIMIT {MOST_USES}
        ) AS used
    ), daily AS (
        SELECT tag_id, day, count(*) AS accounts FROM uses GROUP BY tag_id, day
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
    WITH authors AS ({AUTHORS.format(wanted="")}), uses AS (
        SELECT used.card_id, days.day, authors.id, count(*) AS uses
        FROM authors CROSS JOIN unnest($1::bigint[]) WITH ORDINALITY AS days (first_id, day) CROSS JOIN LATERAL (
            SELECT (SELECT sc.card_id FROM status_cards sc WHERE sc.status_id = post.id) AS card_id
            FROM ({POSTS.format(wanted="AND NOT s.sensitive AND s.spoiler_text = ''")}) AS post
        ) AS used WHERE used.card_id IS NOT NULL GROUP BY used.card_id, days.day, authors.id
    ), daily AS (
        SELECT card_id, day, sum(uses)::bigint AS uses, count(*) AS accounts FROM uses GROUP BY card_id, day
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
    WITH authors AS ({AUTHORS.format(wanted="a.discoverable AND")}), candidates AS (
        SELECT authors.id AS account_id, post.id, post.created_at FROM authors CROSS JOIN LATERAL (
            SELECT latest.id, latest.created_at, (
                SELECT c.favourites + c.reblogs FROM status_counts c WHERE c.status_id = latest.id
            ) AS responses FROM (
                SELECT s.id, s.created_at FROM statuses s
                WHERE s.account_id = authors.id AND s.id >= $1
                AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
                AND (s.in_reply_to_id IS NULL OR s.in_reply_to_account_id = s.account_id)
                AND NOT s.sensitive AND s.spoiler_text = ''
                ORDER BY s.id DESC LIMIT {MOST_LATEST}
            ) AS latest ORDER BY responses DESC NULLS LAST, latest.id DESC LIMIT {MOST_RESPONDED}
        ) AS post WHERE post.responses >= $2 ORDER BY post.responses DESC, post.id DESC LIMIT {MOST_CANDIDATES}
    )
    SELECT c.id, c.account_id, c.created_at, (
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
    """A status, its author, and the number of other accounts that favourited or boosted it."""

    id: int
    account_id: int
    created_at: datetime
    accounts: int


async def used_tags(db: Connection, begins: Sequence[int], least: int, since: datetime) -> list[UsedTag]:
    """Return the hashtags that `least` accounts used on one of these days, without those that staff has forbidden.

    The n-th day begins at the id `begins[n]`; the last one is today. `since` is the beginning of the first one.
    """
    return [
        UsedTag(
            StatusTag(row["id"], row["name"], row["display_name"]), row["trendable"],
            _newest_first(len(begins), row["days"], row["accounts"]),
        )
        for row in await db.fetch(TAGS, begins, least, since)
    ]  # fmt: skip


async def used_links(db: Connection, begins: Sequence[int], least: int, since: datetime) -> list[UsedLink]:
    """Return the links that `least` accounts used on one of these days."""
    return [
        UsedLink(
            card_of(row["card"]), _newest_first(len(begins), row["days"], row["uses"]),
            _newest_first(len(begins), row["days"], row["accounts"]),
        )
        for row in await db.fetch(LINKS, begins, least, since)
    ]  # fmt: skip


async def noted_statuses(db: Connection, first_id: int, least: int, since: datetime) -> list[NotedStatus]:
    """Return the public statuses from an id on to which other accounts responded, `least` times or more.

    `since` is the time of that id.
    """
    return [NotedStatus(*row.values()) for row in await db.fetch(STATUSES, first_id, least, since)]


def _newest_first(count: int, days: Sequence[int], accounts: Sequence[int]) -> tuple[int, ...]:
    by_day = dict(zip(days, accounts, strict=True))  # days count from 1
    return tuple(by_day.get(day, 0) for day in range(count, 0, -1))

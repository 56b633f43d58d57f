"""The tags, links and statuses that many accounts use or respond to these days.

Each call reads the posts of a week: call rarely, and cache the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .preview_cards import PreviewCard, card_of
from .statuses import StatusTag

# Of each account a limited number of statuses and hashtags counts, so that no flood of posts displaces the posts of
# others: its newest public statuses on each day, the newest hashtags in them, and its statuses with most responses.
# Only the accounts that posted last count.
MOST_AUTHORS = 20_000
MOST_POSTS = 100
MOST_USES = 200
MOST_RESPONDED = 20

# Statuses whose accounts are counted, and the newest favourites and boosts of each that are looked at.
MOST_CANDIDATES = 500
MOST_RESPONSES = 1_000

# Of all accounts together: the newest hashtags and cards of statuses, and the newest statuses with enough responses.
# Hardly a server has as many in a week. The limits bound the work, and with an order they make PostgreSQL read along an
# index: without the values of the parameters it would expect a third of the table.
MOST_ATTACHED = 5_000_000
MOST_NOTED = 200_000

# Neither the subquery nor the query with a LIMIT is a join, so that each is a look into an index.
AUTHORS = f"""
    SELECT c.account_id AS id FROM account_counts c WHERE c.last_status_at >= $3 AND (
        SELECT a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
        FROM accounts a WHERE a.id = c.account_id
    ) ORDER BY c.last_status_at DESC NULLS LAST, c.account_id DESC LIMIT {MOST_AUTHORS}
"""

# The public statuses of the `authors` on each day. The index `statuses_author_public` has all columns that are read.
POSTS = f"""
    SELECT authors.id AS account_id, days.day, post.id
    FROM authors CROSS JOIN unnest($1::bigint[]) WITH ORDINALITY AS days (first_id, day) CROSS JOIN LATERAL (
        SELECT s.id FROM statuses s
        WHERE s.account_id = authors.id AND s.id >= days.first_id
        AND s.id < coalesce(($1::bigint[])[days.day + 1], {2**63 - 1})
        AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
        ORDER BY s.id DESC LIMIT {MOST_POSTS}
    ) AS post
"""

# The hashtags of all statuses are read at once: a look into the index for each post would take longer.
TAGS = f"""
    WITH authors AS ({AUTHORS}), placed AS (
        SELECT post.account_id, post.day, used.tag_id, row_number() OVER (
            PARTITION BY post.account_id, post.day ORDER BY post.id DESC, used.tag_id
        ) AS place
        FROM (
            SELECT st.status_id, st.tag_id FROM status_tags st WHERE st.status_id >= ($1::bigint[])[1]
            ORDER BY st.status_id DESC, st.tag_id DESC LIMIT {MOST_ATTACHED}
        ) AS used JOIN ({POSTS}) AS post ON post.id = used.status_id
    ), uses AS (
        SELECT DISTINCT tag_id, day, account_id FROM placed WHERE place <= {MOST_USES}
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

# As TAGS, for links whose pages have cards. Only statuses without a warning count.
LINKS = f"""
    WITH authors AS ({AUTHORS}), uses AS (
        SELECT linked.card_id, post.day, post.account_id, count(*) AS uses
        FROM (
            SELECT sc.status_id, sc.card_id FROM status_cards sc WHERE sc.status_id >= ($1::bigint[])[1]
            ORDER BY sc.status_id DESC LIMIT {MOST_ATTACHED}
        ) AS linked JOIN ({POSTS}) AS post ON post.id = linked.status_id
        WHERE (SELECT NOT s.sensitive AND s.spoiler_text = '' FROM statuses s WHERE s.id = linked.status_id)
        GROUP BY linked.card_id, post.day, post.account_id
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
# posts are worth a look, at their rows and then at the accounts. Again the subqueries are no joins.
STATUSES = f"""
    WITH noted AS MATERIALIZED (
        SELECT c.status_id, c.favourites + c.reblogs AS responses FROM status_counts c
        WHERE c.status_id >= $1 AND c.favourites + c.reblogs >= $2 ORDER BY c.status_id DESC LIMIT {MOST_NOTED}
    ), fit AS (
        SELECT post.*, noted.responses FROM noted CROSS JOIN LATERAL (
            SELECT s.id, s.account_id, s.created_at FROM statuses s
            WHERE s.id = noted.status_id
            AND s.visibility = 'public' AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL
            AND (s.in_reply_to_id IS NULL OR s.in_reply_to_account_id = s.account_id)
            AND NOT s.sensitive AND s.spoiler_text = '' LIMIT 1
        ) AS post WHERE (
            SELECT a.discoverable AND a.silenced_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
            FROM accounts a WHERE a.id = post.account_id
        )
    ), candidates AS (
        SELECT placed.id, placed.account_id, placed.created_at FROM (
            SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY responses DESC, id DESC) AS place FROM fit
        ) AS placed
        WHERE placed.place <= {MOST_RESPONDED} ORDER BY placed.responses DESC, placed.id DESC LIMIT {MOST_CANDIDATES}
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
    """Return the hashtags that `least` accounts used on one of these days, without hashtags that staff has forbidden.

    The n-th day begins at the id `begins[n]`; the last day is today. `since` is the beginning of the first day.
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


async def noted_statuses(db: Connection, first_id: int, least: int) -> list[NotedStatus]:
    """Return the public statuses from an id on to which other accounts responded, `least` times or more."""
    return [NotedStatus(*row.values()) for row in await db.fetch(STATUSES, first_id, least)]


def _newest_first(count: int, days: Sequence[int], accounts: Sequence[int]) -> tuple[int, ...]:
    by_day = dict(zip(days, accounts, strict=True))  # days count from 1
    return tuple(by_day.get(day, 0) for day in range(count, 0, -1))

"""Accounts to follow: those that an account interacted with, and those with the most followers on this server.

Interactions are not stored a second time: their score is computed from replies, favourites and boosts.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from .accounts import PENDING
from .engine.database import Connection
from .engine.sql import Statement

REPLY, FAVOURITE, REBLOG = 1, 10, 20

MOST = 80  # suggestions for one account
LATEST = 1_000  # favourites, and own statuses, that are looked at

# True if the account `a` may be suggested to accounts that it did not turn away.
SUGGESTIBLE = f"""
    a.suspended_at IS NULL AND a.silenced_at IS NULL AND a.moved_to_id IS NULL AND a.deleted_at IS NULL
    AND NOT a.locked AND NOT {PENDING}
"""

# First by score; with equal scores, the account that posted last. Then the popular accounts in their order. The
# subqueries are no joins, so that each is a look into an index.
FIND = Statement(f"""
    WITH acts AS (
        SELECT f.id, (SELECT s.account_id FROM statuses s WHERE s.id = f.status_id) AS target, {FAVOURITE} AS weight
        FROM (
            SELECT id, status_id FROM favourites WHERE account_id = :viewer AND id >= :since
            ORDER BY id DESC LIMIT {LATEST}
        ) AS f
        UNION ALL
        SELECT
            own.id,
            CASE
                WHEN own.reblog_of_id IS NULL THEN own.in_reply_to_account_id
                ELSE (SELECT s.account_id FROM statuses s WHERE s.id = own.reblog_of_id)
            END,
            CASE WHEN own.reblog_of_id IS NULL THEN {REPLY} ELSE {REBLOG} END
        FROM (
            SELECT id, reblog_of_id, in_reply_to_account_id FROM statuses
            WHERE account_id = :viewer AND deleted_at IS NULL AND id >= :since
            ORDER BY id DESC LIMIT {LATEST}
        ) AS own
    ), scored AS (
        SELECT acts.target AS id, sum(acts.weight) AS score FROM acts
        WHERE NOT EXISTS (
            SELECT FROM ended_suggestions e WHERE e.account_id = :viewer AND e.target_account_id = acts.target
            AND (e.up_to IS NULL OR e.up_to >= acts.id)
        )
        GROUP BY acts.target
    ), popular AS (
        SELECT listed.id, listed.place FROM unnest(:popular::bigint[]) WITH ORDINALITY AS listed (id, place)
        WHERE NOT EXISTS (
            SELECT FROM ended_suggestions e WHERE e.account_id = :viewer AND e.target_account_id = listed.id
        )
    ), found AS (
        SELECT id, coalesce(scored.score, 0) AS score, popular.place FROM scored FULL JOIN popular USING (id)
        WHERE id NOT IN (SELECT unnest(:without::bigint[]))
    )
    SELECT id, score > 0 AS interacted, place IS NOT NULL AS popular FROM found
    WHERE (
        SELECT {SUGGESTIBLE} AND coalesce(a.domain, '') NOT IN (SELECT unnest(:without_domains::text[]))
        AND (found.score > 0 OR a.discoverable)
        FROM accounts a WHERE a.id = found.id
    )
    ORDER BY
        score DESC, CASE WHEN score = 0 THEN place END,
        (SELECT c.last_status_at FROM account_counts c WHERE c.account_id = found.id) DESC NULLS LAST, id DESC
    LIMIT {MOST}
""")

# The accounts are found by the index accounts_directory_local. The subquery with a LIMIT is no join.
POPULAR = f"""
    SELECT a.id FROM accounts a CROSS JOIN LATERAL (
        SELECT followers, last_status_at FROM account_counts c WHERE c.account_id = a.id LIMIT 1
    ) AS c
    WHERE a.discoverable AND a.domain IS NULL AND {SUGGESTIBLE} AND c.followers > 0 AND c.last_status_at > $1
    ORDER BY c.followers DESC, c.last_status_at DESC, a.id DESC LIMIT $2
"""

# A dismissed suggestion stays dismissed.
END = """
    INSERT INTO ended_suggestions (account_id, target_account_id, up_to) VALUES ($1, $2, $3)
    ON CONFLICT (account_id, target_account_id) DO UPDATE SET up_to = excluded.up_to
    WHERE ended_suggestions.up_to IS NOT NULL
"""

DISMISS = """
    INSERT INTO ended_suggestions (account_id, target_account_id)
    SELECT $1, a.id FROM accounts a WHERE a.id = $2 AND a.id <> $1
    ON CONFLICT (account_id, target_account_id) DO UPDATE SET up_to = NULL
"""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An account to follow, and why: the viewer `interacted` with it, or it is `popular` here."""

    account_id: int
    interacted: bool
    popular: bool


async def find(
    db: Connection,
    viewer: int,
    *,
    since: int,
    popular: Sequence[int],
    without: Collection[int],
    without_domains: Collection[str],
) -> list[Suggestion]:
    """Return all suggestions for an account, the best first: by interactions since an id, then popular accounts.

    The reader decides which accounts and domains to leave out.
    """
    asked = FIND.bind(
        viewer=viewer, since=since, popular=popular, without=list(without), without_domains=list(without_domains)
    )
    return [Suggestion(*row.values()) for row in await db.fetch(*asked)]


async def popular(db: Connection, active_since: datetime, limit: int) -> list[int]:
    """Return the local accounts with the most followers that opted in to be found. It reads all: cache the result."""
    return [row["id"] for row in await db.fetch(POPULAR, active_since, limit)]


async def end(db: Connection, account_id: int, target_id: int, up_to: int) -> None:
    """Stop suggesting an account for interactions with ids up to `up_to`."""
    await db.execute(END, account_id, target_id, up_to)


async def dismiss(db: Connection, account_id: int, target_id: int) -> None:
    """Stop suggesting an account for good. An unknown account changes nothing."""
    await db.execute(DISMISS, account_id, target_id)

"""Deletions of statuses. The row stays, with the time of its deletion."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from . import accounts, quotes
from .engine.database import Connection
from .quotes import EndedQuote
from .statuses import Status, lock_own

# Locked, so that no boost is deleted by its author at the same time and taken off the counts twice; in the order of
# ids, so that two transactions never wait for each other.
REBLOGS = "SELECT id, account_id FROM statuses WHERE reblog_of_id = $1 AND deleted_at IS NULL ORDER BY id FOR UPDATE"

# Boosts are deleted with their original. All counts that included these rows are lowered.
DELETE = """
    WITH gone AS (
        UPDATE statuses SET deleted_at = $2 WHERE id = ANY($1::bigint[])
        RETURNING id, account_id, visibility, in_reply_to_id, reblog_of_id, quote_of_id, quote_state
    ), authors AS (
        UPDATE account_counts SET statuses = statuses - lost.number
        FROM (SELECT account_id, count(*) AS number FROM gone WHERE visibility <> 'direct' GROUP BY account_id) AS lost
        WHERE account_counts.account_id = lost.account_id
    ), above AS (
        UPDATE status_counts SET
            replies = replies - lost.answers, reblogs = reblogs - lost.boosts, quotes = quotes - lost.quoted
        FROM (
            SELECT id, sum(answers) AS answers, sum(boosts) AS boosts, sum(quoted) AS quoted FROM (
                SELECT in_reply_to_id AS id, (visibility IN ('public', 'unlisted'))::int AS answers, 0 AS boosts,
                    0 AS quoted
                FROM gone
                UNION ALL SELECT reblog_of_id, 0, 1, 0 FROM gone
                UNION ALL SELECT quote_of_id, 0, 0, 1 FROM gone WHERE quote_state = 'accepted'
            ) AS parts WHERE id IS NOT NULL GROUP BY id
        ) AS lost
        WHERE status_counts.status_id = lost.id
    ), unnotified AS (
        DELETE FROM notifications WHERE status_id = ANY($1::bigint[])
    ), pinned AS (
        DELETE FROM pins WHERE status_id = ANY($1::bigint[])
    ), filtered AS (
        DELETE FROM filter_statuses WHERE status_id = ANY($1::bigint[])
    ), worded AS (
        DELETE FROM status_words WHERE status_id = ANY($1::bigint[])
    ), carded AS (
        DELETE FROM status_cards WHERE status_id = ANY($1::bigint[])
    ), featured AS (
        UPDATE featured_tags f SET statuses = f.statuses - 1, last_status_at = (
            SELECT s.created_at FROM statuses s JOIN status_tags other ON other.status_id = s.id
            WHERE s.account_id = f.account_id AND other.tag_id = f.tag_id AND s.id <> gone.id
            AND s.deleted_at IS NULL AND s.visibility IN ('public', 'unlisted')
            ORDER BY s.id DESC LIMIT 1
        )
        FROM gone JOIN status_tags st ON st.status_id = gone.id
        WHERE f.account_id = gone.account_id AND f.tag_id = st.tag_id AND gone.visibility IN ('public', 'unlisted')
    )
    UPDATE media_attachments SET status_id = NULL, updated_at = $2 WHERE status_id = ANY($1::bigint[])
"""

REMAINS = """
    SELECT s.visibility, s.mentioned_ids, ARRAY(
        SELECT t.name FROM status_tags st JOIN tags t ON t.id = st.tag_id WHERE st.status_id = s.id ORDER BY t.name
    ) AS tags
    FROM statuses s WHERE s.id = $1
"""


@dataclass(frozen=True, slots=True)
class Deleted:
    """A deleted status as it was, the boosts (status id, account id) that were deleted with it, and its quotes."""

    status: Status
    reblogs: tuple[tuple[int, int], ...]
    quotes: tuple[EndedQuote, ...] = ()


@dataclass(frozen=True, slots=True)
class Remains:
    """The facts that decide which accounts a status may have been shown to. `tags` are names."""

    visibility: str
    mentioned_ids: tuple[int, ...]
    tags: tuple[str, ...]


async def soft_delete(
    db: Connection, id: int, account_id: int, now: datetime, next_id: Callable[[], int]
) -> Deleted | None:
    """Delete an account's own status and the boosts of it, and end the quotes of it.

    None if the account does not have the status.
    """
    status = await lock_own(db, id, account_id)
    if status is None:
        return None
    reblogs = tuple((row["id"], row["account_id"]) for row in await db.fetch(REBLOGS, id))
    ended = await quotes.end_of(db, id, "deleted", next_id)
    await accounts.lock_counts(db, [account_id, *(author for _, author in reblogs)])
    await db.execute(DELETE, [id, *(boost for boost, _ in reblogs)], now)
    return Deleted(status, reblogs, ended)


async def deleted_among(db: Connection, ids: Sequence[int]) -> list[int]:
    """Return which of these statuses were deleted."""
    rows = await db.fetch(
        "SELECT id FROM statuses WHERE id = ANY($1::bigint[]) AND deleted_at IS NOT NULL ORDER BY id", ids
    )
    return [row["id"] for row in rows]


async def remains(db: Connection, id: int) -> Remains | None:
    """Return the facts about a status that stay after its deletion."""
    row = await db.fetchrow(REMAINS, id)
    return Remains(row["visibility"], tuple(row["mentioned_ids"]), tuple(row["tags"])) if row is not None else None

"""Conversations: threads of direct statuses as each participant sees them.

An account has one row for each thread and set of other participants.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .engine.database import Connection, Row, replaced
from .upkeep.paging import Page, both_ways

COLUMNS = "c.id, c.account_id, c.participant_ids, c.last_status_id, c.unread"

MOST_PARTICIPANTS = 300


def _participants(everybody: str, account: str) -> str:
    """Return SQL for the other participants. Of a status that mentions no other account, this is the author."""
    return f"""coalesce(nullif(ARRAY(
        SELECT DISTINCT p FROM unnest({everybody}) AS p WHERE p <> {account} ORDER BY p LIMIT {MOST_PARTICIPANTS}
    ), '{{}}'), ARRAY[{account}])"""


# Always in the order of accounts, so that two concurrent writers can't deadlock.
PUT = f"""
    INSERT INTO account_conversations AS c (
        id, account_id, conversation_id, participant_ids, last_status_id, first_status_id, unread
    )
    SELECT made.id, made.account_id, s.conversation_id,
        {_participants("s.mentioned_ids || s.account_id", "made.account_id")}, s.id, s.id,
        made.account_id <> s.account_id
    FROM unnest($1::bigint[], $2::bigint[]) AS made (id, account_id) JOIN statuses s ON s.id = $3
    ORDER BY made.account_id
    ON CONFLICT (account_id, conversation_id, participant_ids) DO UPDATE SET
        last_status_id = greatest(c.last_status_id, excluded.last_status_id), unread = excluded.unread
    RETURNING {COLUMNS}
"""

# The direct statuses among these, which were stored before they are added.
COLLECT = f"""
    INSERT INTO account_conversations AS c (
        id, account_id, conversation_id, participant_ids, last_status_id, first_status_id, unread
    )
    SELECT min(made.id), $3::bigint, s.conversation_id, people.ids, max(s.id), min(s.id), true
    FROM unnest($1::bigint[], $2::bigint[]) AS made (id, status_id)
    JOIN statuses s ON s.id = made.status_id AND s.visibility = 'direct' AND s.deleted_at IS NULL
    CROSS JOIN LATERAL (
        SELECT {_participants("s.mentioned_ids || s.account_id", "$3::bigint")} AS ids
    ) AS people
    GROUP BY s.conversation_id, people.ids
    ON CONFLICT (account_id, conversation_id, participant_ids) DO UPDATE SET
        last_status_id = greatest(c.last_status_id, excluded.last_status_id),
        first_status_id = least(c.first_status_id, excluded.first_status_id), unread = true
    RETURNING {COLUMNS}
"""

# The rows are locked in the order of accounts, so that two transactions never wait for each other.
# The status before the deleted one, if there is one since the row was made. Otherwise the row is deleted.
RETRACT = f"""
    WITH concerned AS (
        SELECT c.id, (
            SELECT max(s.id) FROM statuses s
            WHERE s.conversation_id = c.conversation_id AND s.visibility = 'direct' AND s.deleted_at IS NULL
            AND s.id >= c.first_status_id AND s.id < $1
            AND c.participant_ids = {_participants("s.mentioned_ids || s.account_id", "c.account_id")}
        ) AS earlier
        FROM account_conversations c WHERE c.last_status_id = $1
        ORDER BY c.account_id FOR UPDATE
    ), emptied AS (
        DELETE FROM account_conversations c USING concerned WHERE c.id = concerned.id AND concerned.earlier IS NULL
    )
    UPDATE account_conversations c SET last_status_id = concerned.earlier
    FROM concerned WHERE c.id = concerned.id AND concerned.earlier IS NOT NULL
"""

FIND = f"SELECT {COLUMNS} FROM account_conversations c WHERE c.account_id = $1 AND c.id = $2"

PAGE = both_ways(f"""
    SELECT {COLUMNS} FROM account_conversations c
    WHERE c.account_id = $1 AND c.last_status_id < $2 AND c.last_status_id > $3
    ORDER BY c.last_status_id {{order}} LIMIT $4
""")

MARK = f"UPDATE account_conversations c SET unread = $3 WHERE c.account_id = $1 AND c.id = $2 RETURNING {COLUMNS}"

REMOVE = "DELETE FROM account_conversations WHERE account_id = $1 AND id = $2 RETURNING id"

FORGET = "DELETE FROM account_conversations WHERE account_id = $1 AND $2 = ANY(participant_ids)"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread as one account sees it."""

    id: int
    account_id: int
    participant_ids: tuple[int, ...]
    last_status_id: int | None
    unread: bool


async def put(
    db: Connection, status_id: int, account_ids: Sequence[int], fresh_ids: Sequence[int]
) -> list[Conversation]:
    """Add a direct status to the conversations of these accounts. `fresh_ids` are the ids of new conversations."""
    return _conversations(await db.fetch(PUT, fresh_ids, account_ids, status_id))


async def collect(
    db: Connection, account_id: int, status_ids: Sequence[int], fresh_ids: Sequence[int]
) -> list[Conversation]:
    """Add the direct statuses among these earlier statuses to an account's conversations, unread.

    `fresh_ids` has the id of a new conversation for each status.
    """
    return _conversations(await db.fetch(COLLECT, fresh_ids, status_ids, account_id))


async def retract(db: Connection, status_id: int) -> None:
    """Remove a deleted status: conversations that end with it then end with the status before it."""
    await db.execute(RETRACT, status_id)


async def find(db: Connection, account_id: int, id: int) -> Conversation | None:
    return _maybe(await db.fetchrow(FIND, account_id, id))


async def page(
    db: Connection,
    account_id: int,
    page: Page,
) -> list[Conversation]:
    """Return a page of an account's conversations, newest first. They are paged by the id of the last status."""
    rows = await db.fetch(PAGE[page.oldest_first], account_id, *page.bounds)
    return sorted(_conversations(rows), key=lambda conversation: conversation.last_status_id or 0, reverse=True)


async def mark(db: Connection, account_id: int, id: int, unread: bool) -> Conversation | None:
    """Mark a conversation as read or unread. None if the account does not have the conversation."""
    return _maybe(await db.fetchrow(MARK, account_id, id, unread))


async def remove(db: Connection, account_id: int, id: int) -> bool:
    """Remove a conversation from the account's list. The next status brings it back."""
    return await db.fetchval(REMOVE, account_id, id) is not None


async def forget(db: Connection, account_id: int, participant_id: int) -> None:
    """Remove all conversations with this participant from the account's list."""
    await db.execute(FORGET, account_id, participant_id)


def _conversations(rows: Sequence[Row]) -> list[Conversation]:
    return [_conversation(row) for row in rows]


def _maybe(row: Row | None) -> Conversation | None:
    return _conversation(row) if row is not None else None


def _conversation(row: Row) -> Conversation:
    return Conversation(**replaced(row, participant_ids=tuple(row["participant_ids"])))

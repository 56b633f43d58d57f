"""Muted conversations: threads about which an account gets no notifications."""

from datetime import datetime

from .engine.database import Connection

INSERT = """
    INSERT INTO conversation_mutes (account_id, conversation_id, created_at) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING
"""

DELETE = "DELETE FROM conversation_mutes WHERE account_id = $1 AND conversation_id = $2"

TAKES_PART = """
    SELECT EXISTS (
        SELECT FROM statuses s WHERE s.conversation_id = $2 AND (s.account_id = $1 OR $1 = ANY(s.mentioned_ids))
    )
"""


async def insert(db: Connection, account_id: int, conversation_id: int, now: datetime) -> None:
    await db.execute(INSERT, account_id, conversation_id, now)


async def delete(db: Connection, account_id: int, conversation_id: int) -> None:
    await db.execute(DELETE, account_id, conversation_id)


async def takes_part(db: Connection, account_id: int, conversation_id: int) -> bool:
    """True if the account wrote in the thread or was mentioned there."""
    return await db.fetchval(TAKES_PART, account_id, conversation_id)

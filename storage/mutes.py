"""Mutes of accounts and of conversations."""

from datetime import datetime

from .engine import Connection

# A repeat changes it.
UPSERT = """
    INSERT INTO mutes (id, account_id, target_account_id, hide_notifications, expires_at, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (account_id, target_account_id)
    DO UPDATE SET hide_notifications = excluded.hide_notifications, expires_at = excluded.expires_at
"""

FORGET_NOTIFICATIONS = "DELETE FROM notifications WHERE account_id = $1 AND from_account_id = $2"

DELETE = "DELETE FROM mutes WHERE account_id = $1 AND target_account_id = $2 RETURNING id"

EXPIRE = "DELETE FROM mutes WHERE expires_at <= $1 RETURNING account_id, target_account_id"

MUTE_CONVERSATION = """
    INSERT INTO conversation_mutes (account_id, conversation_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
"""

UNMUTE_CONVERSATION = "DELETE FROM conversation_mutes WHERE account_id = $1 AND conversation_id = $2"


async def insert_mute(
    db: Connection,
    id: int,
    account_id: int,
    target_id: int,
    now: datetime,
    *,
    hide_notifications: bool = True,
    expires_at: datetime | None = None,
) -> None:
    """Mute an account, or change how; hiding notifications removes the old ones too."""
    await db.execute(UPSERT, id, account_id, target_id, hide_notifications, expires_at, now)
    if hide_notifications:
        await db.execute(FORGET_NOTIFICATIONS, account_id, target_id)


async def delete_mute(db: Connection, account_id: int, target_id: int) -> bool:
    """Unmute; False when there was no mute."""
    return await db.fetchval(DELETE, account_id, target_id) is not None


async def expire(db: Connection, now: datetime) -> list[tuple[int, int]]:
    """Remove the mutes that are over; who muted whom is returned."""
    return [(row["account_id"], row["target_account_id"]) for row in await db.fetch(EXPIRE, now)]


async def mute_conversation(db: Connection, account_id: int, conversation_id: int, now: datetime) -> None:
    await db.execute(MUTE_CONVERSATION, account_id, conversation_id, now)


async def unmute_conversation(db: Connection, account_id: int, conversation_id: int) -> None:
    await db.execute(UNMUTE_CONVERSATION, account_id, conversation_id)

"""Idempotency keys: which status an account's key made."""

from datetime import datetime

from .engine import Connection

FIND = "SELECT status_id FROM idempotency WHERE account_id = $1 AND key = $2 AND created_at > $3"

# An expired key that is not yet swept gives way.
INSERT = """
    INSERT INTO idempotency (account_id, key, status_id, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id, key) DO UPDATE SET status_id = excluded.status_id, created_at = excluded.created_at
    WHERE idempotency.created_at <= $5
    RETURNING status_id
"""

EXPIRE = "DELETE FROM idempotency WHERE created_at <= $1"


async def find(db: Connection, account_id: int, key: str, made_after: datetime) -> int | None:
    """The status that this key made after the given time."""
    return await db.fetchval(FIND, account_id, key, made_after)


async def insert(
    db: Connection, account_id: int, key: str, status_id: int, now: datetime, expired_before: datetime
) -> bool:
    """Keep a key in the transaction of its status; False when another status holds it."""
    return await db.fetchval(INSERT, account_id, key, status_id, now, expired_before) is not None


async def expire(db: Connection, made_before: datetime) -> None:
    await db.execute(EXPIRE, made_before)

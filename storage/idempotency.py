"""Idempotency keys: the status, published or scheduled, that an account's key made."""

from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .engine.sql import Statement

FIND = "SELECT status_id, scheduled_status_id FROM idempotency WHERE account_id = $1 AND key = $2 AND created_at > $3"

# Each new key deletes two expired keys, so that the table does not grow.
EXPIRED = """
    SELECT account_id, key FROM idempotency
    WHERE created_at <= :expired_before AND (account_id, key) <> (:account_id, :key) AND :key IS NOT NULL
    ORDER BY created_at LIMIT 2 FOR UPDATE SKIP LOCKED
"""
DELETE_EXPIRED = """
    DELETE FROM idempotency old USING expired WHERE old.account_id = expired.account_id AND old.key = expired.key
"""
# An expired key is replaced.
REPLACE = """
    ON CONFLICT (account_id, key) DO UPDATE SET
        status_id = excluded.status_id, scheduled_status_id = excluded.scheduled_status_id,
        created_at = excluded.created_at
    WHERE idempotency.created_at <= :expired_before
    RETURNING created_at
"""
INSERT = Statement(f"""
    WITH expired AS ({EXPIRED}), gone AS ({DELETE_EXPIRED})
    INSERT INTO idempotency (account_id, key, status_id, scheduled_status_id, created_at)
    VALUES (:account_id, :key, :status_id, :scheduled_status_id, :now)
    {REPLACE}
""")

FORGET = "DELETE FROM idempotency WHERE account_id = $1 AND key = $2"

PUBLISH = """
    UPDATE idempotency SET status_id = $3, scheduled_status_id = NULL
    WHERE account_id = $1 AND scheduled_status_id = $2
"""


@dataclass(frozen=True, slots=True)
class KeyedStatus:
    """The status that a key made: one of the two is set."""

    status_id: int | None = None
    scheduled_status_id: int | None = None


async def find(db: Connection, account_id: int, key: str, made_after: datetime) -> KeyedStatus | None:
    """Return the status that this key made after the given time."""
    row = await db.fetchrow(FIND, account_id, key, made_after)
    return KeyedStatus(*row.values()) if row is not None else None


async def insert(
    db: Connection, account_id: int, key: str, made: KeyedStatus, now: datetime, expired_before: datetime
) -> bool:
    """Store a key in the transaction of its status. False if the key has made another status."""
    bound = INSERT.bind(made, account_id=account_id, key=key, now=now, expired_before=expired_before)
    return await db.fetchval(*bound) is not None


async def forget(db: Connection, account_id: int, key: str) -> None:
    """Forget what a key made, so that it can make another status."""
    await db.execute(FORGET, account_id, key)


async def publish(db: Connection, account_id: int, scheduled_status_id: int, status_id: int) -> None:
    """Point a key to the status that its scheduled status became."""
    await db.execute(PUBLISH, account_id, scheduled_status_id, status_id)

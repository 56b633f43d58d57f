"""Accounts that moved to another one, and their followers here, who go along."""

from collections.abc import Sequence
from datetime import datetime

from .engine.database import Connection

BEGIN = """
    UPDATE accounts SET moved_to_id = $2, moved_at = $3
    WHERE id = $1 AND id <> $2 AND deleted_at IS NULL AND (moved_at IS NULL OR moved_at <= $4)
    RETURNING id
"""

LOCAL_FOLLOWERS = """
    SELECT account_id FROM follows WHERE target_account_id = $1 AND from_domain IS NULL AND account_id > $2
    ORDER BY account_id LIMIT $3
"""


async def begin(db: Connection, account_id: int, target_id: int, now: datetime, not_since: datetime) -> bool:
    """Note that an account has moved. False if it has moved since a time, or is gone."""
    return await db.fetchval(BEGIN, account_id, target_id, now, not_since) is not None


async def local_followers(db: Connection, account_id: int, after: int, limit: int) -> Sequence[int]:
    """Return some followers of this server, those after an id."""
    return [row["account_id"] for row in await db.fetch(LOCAL_FOLLOWERS, account_id, after, limit)]

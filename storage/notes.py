"""Private notes of an account about another account, visible to their author alone."""

from datetime import datetime

from .engine.database import Connection

UPSERT = """
    INSERT INTO account_notes (account_id, target_account_id, comment, updated_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account_id, target_account_id)
    DO UPDATE SET comment = excluded.comment, updated_at = excluded.updated_at
"""

DELETE = "DELETE FROM account_notes WHERE account_id = $1 AND target_account_id = $2"


async def put(db: Connection, account_id: int, target_id: int, comment: str, now: datetime) -> None:
    """Write a note, or delete it if the text is empty."""
    if comment:
        await db.execute(UPSERT, account_id, target_id, comment, now)
    else:
        await db.execute(DELETE, account_id, target_id)

"""Reports about accounts and their statuses, for staff."""

from datetime import datetime

from .engine.database import Connection

RESOLVE_ABOUT = """
    UPDATE reports SET action_taken_at = $3, action_taken_by_account_id = $2, updated_at = $3
    WHERE target_account_id = $1 AND action_taken_at IS NULL RETURNING id
"""

RESOLVE = """
    UPDATE reports SET action_taken_at = $4, action_taken_by_account_id = $3, updated_at = $4
    WHERE id = $1 AND target_account_id = $2 AND action_taken_at IS NULL RETURNING id
"""


async def resolve_about(db: Connection, account_id: int, by: int | None, now: datetime) -> list[int]:
    """Resolve all open reports about an account. Return their ids."""
    return [row["id"] for row in await db.fetch(RESOLVE_ABOUT, account_id, by, now)]


async def resolve(db: Connection, id: int | None, about: int, by: int | None, now: datetime) -> list[int]:
    """Resolve one open report about an account. Return its id, or nothing if there is no such report."""
    return [row["id"] for row in await db.fetch(RESOLVE, id, about, by, now)]

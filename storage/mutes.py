"""Mutes of accounts. Those of conversations are in `conversation_mutes.py`."""

from dataclasses import dataclass
from datetime import datetime

from . import conversations
from .accounts import listed
from .engine.database import Connection
from .upkeep.paging import Page, both_ways

# A repeat changes the terms.
UPSERT = """
    INSERT INTO mutes (id, account_id, target_account_id, hide_notifications, expires_at, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (account_id, target_account_id)
    DO UPDATE SET hide_notifications = excluded.hide_notifications, expires_at = excluded.expires_at
"""

FORGET_NOTIFICATIONS = "DELETE FROM notifications WHERE account_id = $1 AND from_account_id = $2"

DELETE = "DELETE FROM mutes WHERE account_id = $1 AND target_account_id = $2 RETURNING id"

END = "DELETE FROM mutes WHERE account_id = $1 AND target_account_id = $2 AND expires_at <= $3 RETURNING id"

PAGE = both_ways(f"""
    SELECT id, target_account_id, expires_at FROM mutes m
    WHERE account_id = $1 AND id < $2 AND id > $3 AND (expires_at IS NULL OR expires_at > $5)
    AND {listed("m.target_account_id")}
    ORDER BY id {{order}} LIMIT $4
""")


@dataclass(frozen=True, slots=True)
class Muted:
    """A mute on a page of mutes."""

    id: int
    account_id: int
    expires_at: datetime | None


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
    """Mute an account, or change the terms. If notifications are hidden, existing notifications are deleted."""
    await db.execute(UPSERT, id, account_id, target_id, hide_notifications, expires_at, now)
    if hide_notifications:
        await db.execute(FORGET_NOTIFICATIONS, account_id, target_id)
        await conversations.forget(db, account_id, target_id)


async def delete_mute(db: Connection, account_id: int, target_id: int) -> bool:
    """Unmute an account. False if there was no mute."""
    return await db.fetchval(DELETE, account_id, target_id) is not None


async def end(db: Connection, account_id: int, target_id: int, now: datetime) -> bool:
    """Remove an expired mute. False if there is none, or if it has not expired."""
    return await db.fetchval(END, account_id, target_id, now) is not None


async def page(
    db: Connection, account_id: int, now: datetime, page: Page
) -> list[Muted]:  # fmt: skip
    """Return the muted accounts, the latest first."""
    rows = await db.fetch(PAGE[page.oldest_first], account_id, *page.bounds, now)
    return sorted((Muted(*row.values()) for row in rows), key=lambda muted: muted.id, reverse=True)

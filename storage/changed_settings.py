"""Settings that staff change while the server runs. They come before those of the configuration."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .engine.database import Connection

REGISTRATIONS = "registrations"

FIND = "SELECT value FROM changed_settings WHERE name = $1"

PUT = """
    INSERT INTO changed_settings (name, value, changed_at) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at
"""

DELETE = "DELETE FROM changed_settings WHERE name = $1"

Registrations = Literal["open", "approval", "closed"]


async def find_registrations(db: Connection) -> Registrations | None:
    """Return who may sign up. None if staff did not change it."""
    return await db.fetchval(FIND, REGISTRATIONS)


async def put_registrations(db: Connection, value: Registrations, now: datetime) -> None:
    await db.execute(PUT, REGISTRATIONS, value, now)


async def forget_registrations(db: Connection) -> None:
    """Let the configuration say again who may sign up."""
    await db.execute(DELETE, REGISTRATIONS)

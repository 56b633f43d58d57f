"""Settings that staff change while the server runs. They override the configuration."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .engine.database import Connection

REGISTRATIONS = "registrations"
MEDIA_BUDGET = "media_budget"
LOG_LEVEL = "log_level"

FIND = "SELECT value FROM changed_settings WHERE name = $1"

FIND_ALL = "SELECT name, value FROM changed_settings ORDER BY name"

PUT = """
    INSERT INTO changed_settings (name, value, changed_at) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at
"""

DELETE = "DELETE FROM changed_settings WHERE name = $1"

Registrations = Literal["open", "approval", "closed"]
LogLevel = Literal["info", "warning", "error"]


async def find_all(db: Connection) -> dict[str, str]:
    """Return all settings that staff has changed, by their names."""
    return {row["name"]: row["value"] for row in await db.fetch(FIND_ALL)}


async def find(db: Connection, name: str) -> str | None:
    """Return a setting as text. None if staff did not change it."""
    return await db.fetchval(FIND, name)


async def put(db: Connection, name: str, value: str, now: datetime) -> None:
    await db.execute(PUT, name, value, now)


async def forget(db: Connection, name: str) -> None:
    """Delete the changed value of a setting, so that the configuration or the default counts again."""
    await db.execute(DELETE, name)


async def find_registrations(db: Connection) -> Registrations | None:
    """Return who may sign up. None if staff did not change it."""
    return await db.fetchval(FIND, REGISTRATIONS)


async def find_media_budget(db: Connection) -> int | None:
    """Return the bytes that files may take which could be fetched again. None if staff did not change it."""
    value = await db.fetchval(FIND, MEDIA_BUDGET)
    return None if value is None else int(value)


async def put_media_budget(db: Connection, value: int, now: datetime) -> None:
    await db.execute(PUT, MEDIA_BUDGET, str(value), now)


async def find_log_level(db: Connection) -> LogLevel | None:
    """Return the lowest level of records that are written. None if staff did not change it."""
    return await db.fetchval(FIND, LOG_LEVEL)

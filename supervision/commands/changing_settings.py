"""Changes of settings, directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.changed_settings import change_log_level, change_registrations
from ...actors.kernel.ids import Ids
from ...actors.rules.sign_up_rule import effective_registrations
from ...actors.staff import act_at_command_line
from ...http.access.sign_ups import NOTICE
from ...storage import changed_settings
from ...storage.changed_settings import LogLevel, Registrations
from ...storage.engine import notices
from ...storage.engine.database import Connection
from .. import log_level
from .acting import allowed


async def change(db: Connection, value: Registrations | None, ids: Ids, now: datetime) -> None:
    """Choose who may sign up. With None the configuration says so again."""
    allowed(await change_registrations(db, act_at_command_line(ids, now), value))
    await notices.announce(db, NOTICE)


async def explained(db: Connection, configured: Registrations, sends_mail: bool, ids: Ids, now: datetime) -> str:
    """Return who may sign up, and which source says so."""
    changed = await changed_settings.find_registrations(db)
    rule = effective_registrations(changed, configured, sends_mail=sends_mail)
    source = "the configuration says so" if changed is None else "chosen by staff"
    wanted = changed or configured
    if wanted != rule:
        return f"{rule}: there is no `smtp_host`, so no address can be confirmed ({wanted}: {source})"
    return f"{rule}: {source}"


async def change_level(db: Connection, value: LogLevel | None, ids: Ids, now: datetime) -> None:
    """Choose the level of the log. With None the configuration says so again."""
    allowed(await change_log_level(db, act_at_command_line(ids, now), value))
    await notices.announce(db, log_level.NOTICE)


async def explained_level(db: Connection, configured: LogLevel, ids: Ids, now: datetime) -> str:
    """Return the level of the log, and which source says so."""
    changed = await changed_settings.find_log_level(db)
    return f"{changed}: chosen by staff" if changed else f"{configured}: the configuration says so"

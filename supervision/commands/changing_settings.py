"""Changes of settings, directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.changed_settings import change_registrations
from ...actors.kernel.ids import Ids
from ...actors.rules.sign_up_rule import effective_registrations
from ...actors.staff import act_at_command_line
from ...http.access.sign_ups import NOTICE
from ...storage import changed_settings
from ...storage.changed_settings import Registrations
from ...storage.engine import notices
from ...storage.engine.database import Connection
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

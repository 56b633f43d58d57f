"""Acts of staff on the settings of the running server."""

from __future__ import annotations

from ..storage import changed_settings
from ..storage.changed_settings import REGISTRATIONS, Registrations
from ..storage.engine.database import Connection
from .kernel import Refused
from .rules.roles import Permission
from .staff import NOT_ALLOWED, StaffAct, Target


async def change_registrations(db: Connection, act: StaffAct, value: Registrations) -> Refused | None:
    """Choose who may sign up, in a transaction."""
    if not await act.may(db, Permission.MANAGE_SETTINGS):
        return NOT_ALLOWED
    await changed_settings.put_registrations(db, value, act.now)
    await act.log(db, "change_setting", Target("setting", None, REGISTRATIONS), value=value)
    return None

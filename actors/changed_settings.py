"""Acts of staff on the settings of the running server."""

from __future__ import annotations

from ..storage import changed_settings
from ..storage.changed_settings import REGISTRATIONS, Registrations
from ..storage.engine.database import Connection
from .kernel import Refused
from .rules.roles import Permission
from .staff import NOT_ALLOWED, StaffAct, Target


async def change_registrations(db: Connection, act: StaffAct, value: Registrations | None) -> Refused | None:
    """Choose who may sign up, in a transaction. With None the configuration says so again."""
    if not await act.may(db, Permission.MANAGE_SETTINGS):
        return NOT_ALLOWED
    if value is None:
        await changed_settings.forget_registrations(db)
    else:
        await changed_settings.put_registrations(db, value, act.now)
    await act.log(db, "change_setting", Target("setting", None, REGISTRATIONS), value=value)
    return None

"""Acts of staff on the settings of the running server."""

from __future__ import annotations

from ..storage import changed_settings
from ..storage.changed_settings import LOG_LEVEL, MEDIA_BUDGET, REGISTRATIONS, LogLevel, Registrations
from ..storage.engine.database import Connection
from .kernel import Refused
from .rules.roles import Permission
from .staff import NOT_ALLOWED, StaffAct, Target


async def change_registrations(db: Connection, act: StaffAct, value: Registrations | None) -> Refused | None:
    """Choose who may sign up, in a transaction. With None the configuration says so again."""
    if not await act.may(db, Permission.MANAGE_SETTINGS):
        return NOT_ALLOWED
    if value is None:
        await changed_settings.forget(db, REGISTRATIONS)
    else:
        await changed_settings.put_registrations(db, value, act.now)
    await act.log(db, "change_setting", Target("setting", None, REGISTRATIONS), value=value)
    return None


async def change_media_budget(db: Connection, act: StaffAct, value: int | None) -> Refused | None:
    """Choose how many bytes files may take that could be fetched again, in a transaction. With None the default."""
    if not await act.may(db, Permission.MANAGE_SETTINGS):
        return NOT_ALLOWED
    if value is None:
        await changed_settings.forget(db, MEDIA_BUDGET)
    else:
        await changed_settings.put_media_budget(db, value, act.now)
    await act.log(db, "change_setting", Target("setting", None, MEDIA_BUDGET), value=value)
    return None


async def change_log_level(db: Connection, act: StaffAct, value: LogLevel | None) -> Refused | None:
    """Choose the lowest level of records that are written, in a transaction. With None the configuration says so."""
    if not await act.may(db, Permission.MANAGE_SETTINGS):
        return NOT_ALLOWED
    if value is None:
        await changed_settings.forget(db, LOG_LEVEL)
    else:
        await changed_settings.put_log_level(db, value, act.now)
    await act.log(db, "change_setting", Target("setting", None, LOG_LEVEL), value=value)
    return None

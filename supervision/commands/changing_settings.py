"""Changes of settings, directly in the rows, for the commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...actors.changed_settings import affected, change_setting
from ...actors.kernel.ids import Ids
from ...actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, LiveSetting, live_setting
from ...actors.staff import act_at_command_line
from ...storage import audit_log, changed_settings
from ...storage.audit_log import AuditFilter
from ...storage.changed_settings import REGISTRATIONS
from ...storage.engine.database import Connection
from ...storage.paging import Page
from ..configuration import Settings
from .acting import WrongValue, allowed

MOST_CHANGES = 1000


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A change that was made, or would be."""

    name: str
    before: str
    after: str
    affects: Sequence[str]
    obstacles: Sequence[str]


async def change(
    db: Connection, settings: Settings, name: str, value: str | None, ids: Ids, now: datetime
) -> SettingChange:
    """Change a setting; with None the configuration says again what it is. Return what the change affects."""
    try:
        setting = live_setting(name)
        wanted = None if value is None else setting.written(setting.parsed(value))
    except InvalidSetting as invalid:
        raise WrongValue(f"{invalid}.") from None
    configured = _configured(settings, setting)
    stored = await changed_settings.find(db, setting.name)
    before, after = (configured if one is None else one for one in (stored, wanted))
    obstacles = _obstacles(settings, setting, after)
    affects = obstacles or await affected(db, setting, before, after, now)
    allowed(await change_setting(db, act_at_command_line(ids, now), setting, wanted, configured))
    return SettingChange(setting.name, before, after, affects, obstacles)


async def listed(db: Connection, settings: Settings, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all settings that can change."""
    changed = await changed_settings.find_all(db)
    return [_shown(settings, one, changed.get(one.name)) for one in LIVE_SETTINGS.values()]


def _shown(settings: Settings, setting: LiveSetting, changed: str | None) -> dict[str, object]:
    configured = _configured(settings, setting)
    value = configured if changed is None else changed
    return {
        "name": setting.name,
        "value": value,
        "configured": configured,
        "changed": changed is not None,
        "meaning": setting.words,
        "obstacles": _obstacles(settings, setting, value),
    }


async def changes(db: Connection, name: str | None, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return the changes that were made, the latest first. Raises WrongValue for a name that is no such setting."""
    found = await audit_log.page(db, AuditFilter(target_type="setting"), Page(MOST_CHANGES))
    wanted = None if name is None else name.replace("-", "_")
    if wanted is not None and wanted not in {*LIVE_SETTINGS, *(one.target for one in found)}:
        raise WrongValue(f"{name} names no setting that can change while the server runs.")
    return [
        {
            "at": one.created_at.isoformat(),
            "by": one.actor,
            "name": one.target,
            "before": one.details.get("before"),
            # Those of earlier versions have the new value alone.
            "after": one.details.get("after", one.details.get("value")),
        }
        for one in found
        if wanted in (None, one.target)
    ]


def _configured(settings: Settings, setting: LiveSetting) -> str:
    return setting.written(getattr(settings, setting.name))


def _obstacles(settings: Settings, setting: LiveSetting, value: str) -> list[str]:
    """Return what keeps a value from having an effect."""
    if setting.name == REGISTRATIONS and value != "closed" and not settings.sends_mail:
        return ["Sign-ups stay closed: there is no `smtp_host`, so no address can be confirmed."]
    return []

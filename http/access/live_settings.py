"""The settings of the configuration with the changes of staff, which hold at once and without a restart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...actors.row_loader import RowLoader
from ...actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, Value
from ...storage import changed_settings
from ...storage.engine.database import Database

# Who may sign up, and the level of the log, have loaders of their own.
APART = frozenset({"registrations", "log_level"})


class LiveSettings(RowLoader):
    """Gives the values of changed settings to `use`, at start and after each change."""

    def __init__(self, database: Database, use: Callable[[Mapping[str, Value]], None]) -> None:
        super().__init__()
        self._database = database
        self._use = use

    async def _read(self) -> None:
        self._use(values_in(await self._database.read(changed_settings.find_all)))


def values_in(rows: Mapping[str, str]) -> dict[str, Value]:
    """Return the values of the settings in rows. Those that an other version has stored, and this can't read, are left.

    Then the configuration counts.
    """
    found: dict[str, Value] = {}
    for name, text in rows.items():
        if name in LIVE_SETTINGS and name not in APART:
            try:
                found[name] = LIVE_SETTINGS[name].parsed(text)
            except InvalidSetting:
                continue
    return found

"""The lowest level of records that the log writes: as staff chose it while the server runs, else as configured."""

from __future__ import annotations

from ...actors.memory.row_loader import RowLoader
from ...storage import changed_settings
from ...storage.changed_settings import LogLevel
from ...storage.engine.database import Database
from .log import SupervisionLog
from .vocabulary import Level


class LiveLogLevel(RowLoader):
    """Gives the log its level at start, and again after each change."""

    def __init__(self, database: Database, log: SupervisionLog, configured: LogLevel) -> None:
        super().__init__()
        self._database = database
        self._log = log
        self._configured: LogLevel = configured

    def inspect(self) -> dict[str, object]:
        """Return the level, for operators."""
        return {"level": self._log.level.name.lower()}

    async def _read(self) -> None:
        changed = await self._database.read(changed_settings.find_log_level)
        self._log.level = Level[(changed or self._configured).upper()]

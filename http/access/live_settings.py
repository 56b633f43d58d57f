"""The settings of the configuration with the changes of staff, which hold at once and without a restart.

The rule for sign-ups is one of them. It is in memory, because many pages and answers say it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...actors.row_loader import RowLoader
from ...actors.rules.live_settings import LIVE_SETTINGS, InvalidSetting, Value
from ...actors.rules.registration import effective_registrations
from ...storage import changed_settings
from ...storage.changed_settings import Registrations
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


class SignUps(RowLoader):
    """The rule that holds now: the changed one, else that of the configuration."""

    def __init__(
        self,
        database: Database,
        configured: Registrations,
        *,
        sends_mail: bool,
        require_reason: Callable[[], bool],
        on_change: Callable[[], None],
    ) -> None:
        super().__init__()
        self._database = database
        self._configured: Registrations = configured
        self._sends_mail = sends_mail
        self._require_reason = require_reason
        self._on_change = on_change
        self._changed_to: Registrations | None = None

    @property
    def rule(self) -> Registrations:
        """The rule for sign-ups: open, with approval by staff, or closed."""
        return effective_registrations(self._changed_to, self._configured, sends_mail=self._sends_mail)

    @property
    def closed_without_mail(self) -> bool:
        """True if staff or the configuration would let people sign up, and there is no mail server."""
        return self.rule == "closed" and (self._changed_to or self._configured) != "closed"

    @property
    def reason_required(self) -> bool:
        """True if a sign-up without a reason is refused."""
        return self.rule == "approval" and self._require_reason()

    async def _read(self) -> None:
        self._changed_to = await self._database.read(changed_settings.find_registrations)
        self._on_change()

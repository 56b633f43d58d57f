"""The rule for sign-ups that holds now, in memory: many pages and answers say it."""

from __future__ import annotations

from collections.abc import Callable

from ...actors.row_loader import RowLoader
from ...actors.rules.sign_up_rule import effective_registrations
from ...storage import changed_settings
from ...storage.changed_settings import Registrations
from ...storage.engine.database import Database


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

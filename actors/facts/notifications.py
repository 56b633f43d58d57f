"""Facts about notifications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage.notifications import Notification
from ..kernel import Origin
from ..notifications import show_notifications
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class AddedNotifications(Fact):
    """New notifications, of any accounts."""

    notifications: Sequence[Notification]

    @property
    def newest(self) -> int:
        return max((notification.id for notification in self.notifications), default=0)

    async def announce(self, facts: Facts, origin: Origin) -> None:
        """Notifications whose sender or status is gone are not shown."""
        for shown in await show_notifications(facts.database, facts.accounts, facts.statuses, self.notifications):
            facts.broadcast.notified(shown, origin)


@dataclass(frozen=True, slots=True)
class MergedNotifications(Fact):
    """Filtered notifications of an account that are shown now."""

    account_id: int

    def announce(self, facts: Facts, origin: Origin) -> None:
        facts.broadcast.merged(self.account_id, origin)


@dataclass(frozen=True, slots=True)
class ChangedOwnRows(Fact):
    """The notifications or the conversations of an account, which the account itself has changed or removed."""

    account_id: int

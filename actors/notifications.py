"""Notifications as they are shown: with the account that caused them and their status."""

from __future__ import annotations

from dataclasses import dataclass

from ..storage import accounts
from ..storage.notifications import Notification
from .rules.visibility import Perspective
from .statuses import ShownStatus, may_see


@dataclass(frozen=True, slots=True)
class ShownNotification:
    """A notification with what its JSON needs."""

    notification: Notification
    account: accounts.Account
    status: ShownStatus | None

    @property
    def id(self) -> int:
        return self.notification.id

    def is_for(self, viewer: Perspective) -> bool:
        """True if its recipient may still see it. A mention is shown to the mentioned account even after a block."""
        return self.status is None or is_shown(self.notification.type, self.status, viewer)


def is_shown(type: str, status: ShownStatus, viewer: Perspective) -> bool:
    """True if the recipient of a notification of this type may still see its status."""
    return type == "mention" or may_see(status, viewer)

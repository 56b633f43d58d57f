"""Notifications as they are shown: with the account that caused them, and their status or strike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..storage import accounts, strikes
from ..storage.engine.database import Database
from ..storage.notifications import Notification
from ..storage.strikes import Strike
from .rules.visibility import Perspective
from .statuses import AccountCache, ShownStatus, StatusCache, may_see


@dataclass(frozen=True, slots=True)
class ShownNotification:
    """A notification with what its JSON needs."""

    notification: Notification
    account: accounts.Account
    status: ShownStatus | None
    strike: Strike | None = None

    @property
    def id(self) -> int:
        return self.notification.id

    def is_for(self, viewer: Perspective) -> bool:
        """True if its recipient may still see it. A mention is shown to the mentioned account even after a block."""
        return self.status is None or is_shown(self.notification.type, self.status, viewer)


async def show_notifications(
    database: Database, accounts: AccountCache, statuses: StatusCache, found: Sequence[Notification]
) -> list[ShownNotification]:
    """Return notifications with what they need, without those whose sender, status or strike is gone."""
    senders = await accounts.find_many(one.from_account_id for one in found)
    shown = await statuses.show_many(one.status_id for one in found if one.status_id is not None)
    ids = [one.strike_id for one in found if one.strike_id is not None]
    struck = await database.read(strikes.find_many, ids) if ids else {}
    complete: list[ShownNotification] = []
    for one in found:
        sender, status, strike = (
            senders.get(one.from_account_id),
            shown.get(one.status_id or 0),
            struck.get(one.strike_id or 0),
        )
        gone = (one.status_id is not None and status is None) or (one.strike_id is not None and strike is None)
        if sender is not None and not gone:
            complete.append(ShownNotification(one, sender, status, strike))
    return complete


def is_shown(type: str, status: ShownStatus, viewer: Perspective) -> bool:
    """True if the recipient of a notification of this type may still see its status."""
    return type == "mention" or may_see(status, viewer)

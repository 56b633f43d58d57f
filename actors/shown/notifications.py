"""Notifications as they are shown: with the account that caused them, and their status, report or strike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage import strikes
from ...storage.accounts import Account
from ...storage.engine.database import Database
from ...storage.notifications import Notification
from ...storage.strikes import Strike
from ..rules.visibility import Perspective
from .reports import ShownReport, find_reports
from .statuses import AccountCache, ShownStatus, StatusCache, may_see


@dataclass(frozen=True, slots=True)
class ShownNotification:
    """A notification with what its JSON needs."""

    notification: Notification
    account: Account
    status: ShownStatus | None
    strike: Strike | None = None
    report: ShownReport | None = None

    @property
    def id(self) -> int:
        return self.notification.id

    def is_for(self, viewer: Perspective) -> bool:
        """True if its recipient may still see it. A mention is shown to the mentioned account even after a block."""
        return self.status is None or is_shown(self.notification.type, self.status, viewer)


async def show_notifications(
    database: Database, accounts: AccountCache, statuses: StatusCache, found: Sequence[Notification]
) -> list[ShownNotification]:
    """Return notifications with what they need, without those whose sender, status, strike or report is gone."""
    people = await accounts.find_many(one.from_account_id for one in found)
    shown = await statuses.show_many(one.status_id for one in found if one.status_id is not None)
    strike_ids = [one.strike_id for one in found if one.strike_id is not None]
    struck = await database.read(strikes.find_many, strike_ids) if strike_ids else {}
    report_ids = [one.report_id for one in found if one.report_id is not None]
    reported = await find_reports(database, accounts, report_ids) if report_ids else {}
    complete: list[ShownNotification] = []
    for one in found:
        account = people.get(one.from_account_id)
        status, strike = shown.get(one.status_id or 0), struck.get(one.strike_id or 0)
        report = reported.get(one.report_id or 0)
        if account is None or (status is None and one.status_id is not None):
            continue
        if (strike is None and one.strike_id is not None) or (report is None and one.report_id is not None):
            continue
        complete.append(ShownNotification(one, account, status, strike, report))
    return complete


def is_shown(type: str, status: ShownStatus, viewer: Perspective) -> bool:
    """True if the recipient of a notification of this type may still see its status."""
    return type == "mention" or may_see(status, viewer)

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
    """A notification with the records that its JSON needs."""

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
    """Return notifications with their records, except if the sender, status, strike or report is gone."""
    people = await accounts.find_many(row.from_account_id for row in found)
    shown = await statuses.show_many(row.status_id for row in found if row.status_id is not None)
    strike_ids = [row.strike_id for row in found if row.strike_id is not None]
    struck = await database.read(strikes.find_many, strike_ids) if strike_ids else {}
    report_ids = [row.report_id for row in found if row.report_id is not None]
    reported = await find_reports(database, accounts, report_ids) if report_ids else {}
    complete: list[ShownNotification] = []
    for row in found:
        account = people.get(row.from_account_id)
        status, strike = shown.get(row.status_id or 0), struck.get(row.strike_id or 0)
        report = reported.get(row.report_id or 0)
        if account is None or (status is None and row.status_id is not None):
            continue
        if (strike is None and row.strike_id is not None) or (report is None and row.report_id is not None):
            continue
        complete.append(ShownNotification(row, account, status, strike, report))
    return complete


def is_shown(type: str, status: ShownStatus, viewer: Perspective) -> bool:
    """True if the recipient of a notification of this type may still see its status."""
    return type == "mention" or may_see(status, viewer)

"""Filing a report, in the turn of the account that reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage import notifications, reports, statuses, users
from ...storage.notifications import NewNotification
from ...storage.reports import Category, NewReport, Report
from ..account import AccountActor, AccountChange
from ..effects.reports import report_mail
from ..facts.notifications import AddedNotification
from ..kernel import Command, Refused, first_id_at, turn
from ..refusals import NOT_FOUND
from ..rules.roles import Permission, roles_with
from ..sending.accounts import send_report
from ..shown.statuses import ShownStatus, may_see

A_DAY = timedelta(days=1)
MOST_A_DAY = 400  # by one account of another server, which is often its server's own for all its users


@dataclass(frozen=True, slots=True)
class FileReport(Command[Report]):
    """Command: report an account and, if wanted, statuses of it. The answer is the report as stored.

    No status is named twice. With rules the report is about their violation; that they exist was checked. A report of
    another server has a `uri`; one account files some hundred of them a day at most. With `forward` the server of the
    reported account gets it too, without the name of who reports.
    """

    target_id: int
    status_ids: tuple[int, ...] = ()
    rule_ids: tuple[int, ...] = ()
    category: Category = "other"
    comment: str = ""
    uri: str | None = None
    forward: bool = False


@turn(AccountActor, FileReport)
async def file_report(account: AccountActor, message: FileReport) -> Report | Refused:
    shown = await account.context.statuses.show_many(message.status_ids)
    if len(shown) < len(message.status_ids) or not all(
        _may_report(status, account, message) for status in shown.values()
    ):
        return NOT_FOUND
    forwarded = message.forward and await _is_elsewhere(account, message.target_id)
    new = NewReport(
        account.context.ids.next(), account.id, message.target_id, message.status_ids, message.rule_ids or None,
        "violation" if message.rule_ids else message.category, message.comment, forwarded=forwarded, uri=message.uri,
    )  # fmt: skip
    return await account.change(_file, new)


async def _is_elsewhere(account: AccountActor, target_id: int) -> bool:
    """True if a report of a local account is about an account of another server."""
    target = await account.context.accounts.find(target_id)
    return account.is_local and target is not None and not target.local


def _may_report(shown: ShownStatus, account: AccountActor, message: FileReport) -> bool:
    return shown.status.account_id == message.target_id and may_see(shown, account.current_perspective())


async def _file(change: AccountChange, new: NewReport) -> Report | Refused:
    """Store a report. Refused if the account or any of the statuses is gone."""
    db, account = change.db, change.account
    if not await reports.lock_reported(db, new.target_account_id):
        return NOT_FOUND
    if not await statuses.hold_many(db, new.status_ids):
        return NOT_FOUND
    if not account.is_local and await _refuses(change, new):
        return NOT_FOUND
    is_first = not await reports.has_open(db, new.target_account_id)
    report = await reports.insert(db, new, change.now)
    if report.forwarded and account.is_local:
        found = await statuses.find_many(db, report.status_ids)
        change.promise(*await send_report(db, account, report, [*found.values()]))
    if is_first:
        await _notify_staff(change, report)
    return report


async def _refuses(change: AccountChange, new: NewReport) -> bool:
    """True for a report of another server that is known, or that exceeds the daily number."""
    if new.uri is not None and await reports.is_known(change.db, new.uri):
        return True
    since = first_id_at(change.now - A_DAY)
    return await reports.count_by(change.db, new.account_id, since, MOST_A_DAY) >= MOST_A_DAY


async def _notify_staff(change: AccountChange, report: Report) -> None:
    """Notify staff of a report, also by mail. Its reporter and its target are left out, even if they are staff."""
    staff = await users.with_roles(change.db, roles_with(Permission.MANAGE_REPORTS))
    recipients = [id for id in staff if id not in (report.account_id, report.target_account_id)]
    news = [
        NewNotification(change.ids.next(), id, report.account_id, "admin.report", report_id=report.id)
        for id in recipients
    ]
    change.promise(*(report_mail(report.id, id) for id in recipients))
    added = await notifications.insert_official(change.db, news, change.now)
    change.publish(*map(AddedNotification.of, added))

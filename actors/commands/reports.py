"""Filing a report, in the turn of the account that reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage import notifications, reports, statuses, users
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification, Notification
from ...storage.reports import Category, NewReport, Report
from ..account import AccountActor
from ..effects.mail import MAIL
from ..effects.notifications import notifications_added
from ..effects.reports import report_mail
from ..facts import AddedNotifications
from ..kernel import Message, Origin, Refused, first_id_at, turn
from ..refusals import NOT_FOUND
from ..rules.roles import Permission, roles_with
from ..sending.accounts import send_report
from ..statuses import ShownStatus, may_see

A_DAY = timedelta(days=1)
MOST_A_DAY = 400  # by one account of another server, which is often its server's own for all its users


@dataclass(frozen=True, slots=True)
class FileReport(Message[Report]):
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


@dataclass(frozen=True, slots=True)
class Filed:
    """The outcome of the transaction."""

    report: Report
    told: list[Notification]
    promised: list[int]


@turn(AccountActor, FileReport)
async def file_report(account: AccountActor, message: FileReport) -> Report | Refused:
    shown = await account.context.statuses.show_many(message.status_ids)
    if len(shown) < len(message.status_ids) or not all(_may_report(one, account, message) for one in shown.values()):
        return NOT_FOUND
    forwarded = message.forward and await _is_elsewhere(account, message.target_id)
    new = NewReport(
        account.context.ids.next(), account.id, message.target_id, message.status_ids, message.rule_ids or None,
        "violation" if message.rule_ids else message.category, message.comment, forwarded=forwarded, uri=message.uri,
    )  # fmt: skip
    filed = await account.transact(_file, account, new, account.origin)
    if filed is None:
        return NOT_FOUND
    await account.publish(AddedNotifications(filed.told), promised=filed.promised)
    account.context.outbox.wake(MAIL)
    return filed.report


async def _is_elsewhere(account: AccountActor, target_id: int) -> bool:
    """True if a report of a local account is about one on another server."""
    target = await account.context.accounts.find(target_id)
    return account.is_local and target is not None and not target.local


def _may_report(shown: ShownStatus, account: AccountActor, message: FileReport) -> bool:
    return shown.status.account_id == message.target_id and may_see(shown, account.current_perspective())


async def _file(db: Connection, account: AccountActor, new: NewReport, origin: Origin) -> Filed | None:
    """Store a report. None if the account or one of the statuses is gone."""
    if not await reports.lock_reported(db, new.target_account_id):
        return None
    if not await statuses.hold_many(db, new.status_ids):
        return None
    if not account.is_local and await _refuses(db, account, new):
        return None
    is_first = not await reports.has_open(db, new.target_account_id)
    report = await reports.insert(db, new, account.now)
    if report.forwarded and account.is_local:
        found = await statuses.find_many(db, report.status_ids)
        await account.context.outbox.promise(db, await send_report(db, account, report, [*found.values()]), origin)
    if not is_first:
        return Filed(report, [], [])
    recipients = await users.with_roles(db, roles_with(Permission.MANAGE_REPORTS))
    return await _tell(db, account, report, [id for id in recipients if id not in _involved(report)], origin)


async def _refuses(db: Connection, account: AccountActor, new: NewReport) -> bool:
    """True for a report of another server that is known, or that is one too many."""
    if new.uri is not None and await reports.is_known(db, new.uri):
        return True
    return await reports.count_by(db, account.id, first_id_at(account.now - A_DAY), MOST_A_DAY) >= MOST_A_DAY


def _involved(report: Report) -> tuple[int, int]:
    """Return the accounts that are not told of a report, although they may read it if they are staff."""
    return report.account_id, report.target_account_id


async def _tell(db: Connection, account: AccountActor, report: Report, recipients: list[int], origin: Origin) -> Filed:
    """Notify staff of a report, and promise the mails."""
    context, outbox = account.context, account.context.outbox
    news = [
        NewNotification(context.ids.next(), id, report.account_id, "admin.report", report_id=report.id)
        for id in recipients
    ]
    told = await notifications.insert_official(db, news, account.now)
    await outbox.promise(db, [report_mail(report.id, id) for id in recipients], origin)
    return Filed(report, told, await outbox.promise(db, notifications_added(told), origin))

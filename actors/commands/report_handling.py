"""Acts of staff on reports: assign, resolve, reopen and change them, and write notes on them.

Each is a turn of the moderator's own account; two moderators meet at the lock of the report's row. The command line
calls the same acts. A repeat changes nothing and is not logged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...storage import accounts, moderation, reports
from ...storage.engine.database import Connection
from ...storage.reports import Category, Report, ReportNote
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import REPORT_NOTE_CHARACTERS
from ..rules.roles import Permission, may
from ..staff import Staff, StaffAct, Target, act_in_turn, needs

NO_RULES = Refused(422, "Validation failed: Rule ids must be blank")
NO_STAFF = Refused(422, "Validation failed: Assigned account may not handle reports")
BLANK = Refused(422, "Validation failed: Content can't be blank")
TOO_LONG = Refused(422, f"Validation failed: Content is too long (maximum is {REPORT_NOTE_CHARACTERS} characters)")


@dataclass(frozen=True, slots=True)
class AssignReport(Message[Report]):
    """Command: assign a report to this account, or with `unassign` to no account."""

    staff: Staff
    report_id: int
    unassign: bool = False


@dataclass(frozen=True, slots=True)
class ResolveReport(Message[Report]):
    """Command: resolve a report."""

    staff: Staff
    report_id: int


@dataclass(frozen=True, slots=True)
class ReopenReport(Message[Report]):
    """Command: open a resolved report again."""

    staff: Staff
    report_id: int


@dataclass(frozen=True, slots=True)
class ChangeReport(Message[Report]):
    """Command: change the category and the rules of a report. None leaves a value as it is."""

    staff: Staff
    report_id: int
    category: Category | None = None
    rule_ids: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class NoteReport(Message[Report]):
    """Command: write a note on a report, which only staff reads."""

    staff: Staff
    report_id: int
    content: str


@turn(AccountActor, AssignReport)
async def assign_report(account: AccountActor, message: AssignReport) -> Report | Refused:
    to = None if message.unassign else account.id
    return await act_in_turn(account, message.staff, assign, message.report_id, to)


@turn(AccountActor, ResolveReport)
async def resolve_report(account: AccountActor, message: ResolveReport) -> Report | Refused:
    return await act_in_turn(account, message.staff, resolve, message.report_id)


@turn(AccountActor, ReopenReport)
async def reopen_report(account: AccountActor, message: ReopenReport) -> Report | Refused:
    return await act_in_turn(account, message.staff, reopen, message.report_id)


@turn(AccountActor, ChangeReport)
async def change_report(account: AccountActor, message: ChangeReport) -> Report | Refused:
    return await act_in_turn(account, message.staff, change, message.report_id, message.category, message.rule_ids)


@turn(AccountActor, NoteReport)
async def note_report(account: AccountActor, message: NoteReport) -> Report | Refused:
    return await act_in_turn(account, message.staff, add_note, message.report_id, message.content)


async def assign(db: Connection, act: StaffAct, id: int, to: int | None) -> Report | Refused:
    """Assign a report to one of the staff, or with None to no account."""
    # Accounts before the report, as acts on accounts lock them.
    await moderation.hold(db, [one for one in (act.staff.account_id, to) if one is not None])
    report = await _lock(db, act, id)
    if isinstance(report, Refused) or report.assigned_account_id == to:
        return report
    if to is not None and not may(await moderation.role_of(db, to), Permission.MANAGE_REPORTS):
        return NO_STAFF
    await _log(db, act, "unassign" if to is None else "assign", report, to=None if to is None else str(to))
    return await reports.assign(db, id, to, act.now)


async def resolve(db: Connection, act: StaffAct, id: int) -> Report | Refused:
    """Resolve a report. One that was resolved before stays as it is."""
    report = await _lock(db, act, id)
    if isinstance(report, Refused) or report.action_taken_at is not None:
        return report
    await _log(db, act, "resolve", report)
    return await reports.close(db, id, act.staff.account_id, act.now)


async def reopen(db: Connection, act: StaffAct, id: int) -> Report | Refused:
    """Open a resolved report again."""
    report = await _lock(db, act, id)
    if isinstance(report, Refused) or report.action_taken_at is None:
        return report
    await _log(db, act, "reopen", report)
    return await reports.reopen(db, id, act.now)


async def change(
    db: Connection, act: StaffAct, id: int, category: Category | None, rule_ids: tuple[int, ...] | None
) -> Report | Refused:
    """Change what a report is about. Only one about a violation names rules."""
    report = await _lock(db, act, id)
    if isinstance(report, Refused):
        return report
    wanted = category or report.category, report.rule_ids if rule_ids is None else rule_ids or None
    if wanted == (report.category, report.rule_ids):
        return report
    about, rules = wanted
    if rules and about != "violation":
        return NO_RULES
    await _log(db, act, "update", report, category=about, rule_ids=[str(rule) for rule in rules or ()])
    return await reports.change(db, id, about, rules, act.now)


async def add_note(db: Connection, act: StaffAct, id: int, content: str) -> Report | Refused:
    """Store a note on a report, which only staff reads."""
    if not content or len(content) > REPORT_NOTE_CHARACTERS:
        return TOO_LONG if content else BLANK
    report = await _lock(db, act, id)
    if isinstance(report, Refused):
        return report
    await reports.insert_note(db, ReportNote(act.next_id(), id, act.staff.account_id, content, act.now))
    await _log(db, act, "note", report)
    return report


@needs(Permission.MANAGE_REPORTS)
async def _lock(db: Connection, act: StaffAct, id: int) -> Report | Refused:
    return await reports.lock(db, id) or NOT_FOUND


# `Any`: beside what else the action needs, these may hold the reason, which is a text.
async def _log(db: Connection, act: StaffAct, action: str, report: Report, **details: Any) -> None:
    target = (await accounts.find_many(db, [report.target_account_id])).get(report.target_account_id)
    await act.log(db, action, Target("report", report.id, "" if target is None else target.acct), **details)

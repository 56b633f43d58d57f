"""Acts of staff on reports: assign, resolve, reopen and change them, and write notes on them.

A repeat changes nothing and is not logged.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import accounts, moderation, reports
from ...storage.reports import Category, Report, ReportNote
from ..kernel import Command, Refused
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.limits import REPORT_NOTE_CHARACTERS
from ..rules.roles import Permission, may
from ..staff.acts import Staff, StaffAct, Target, act

NO_RULES = Refused(422, "Validation failed: Rule ids must be blank")
NO_STAFF = Refused(422, "Validation failed: Assigned account may not handle reports")
BLANK = Refused(422, "Validation failed: Content can't be blank")
TOO_LONG = Refused(422, f"Validation failed: Content is too long (maximum is {REPORT_NOTE_CHARACTERS} characters)")


@dataclass(frozen=True, slots=True)
class AssignReport(Command[Report]):
    """Command: assign a report to a member of staff, or with None to no account."""

    staff: Staff
    report_id: int
    to: int | None


@dataclass(frozen=True, slots=True)
class ResolveReport(Command[Report]):
    """Command: resolve a report."""

    staff: Staff
    report_id: int


@dataclass(frozen=True, slots=True)
class ReopenReport(Command[Report]):
    """Command: open a resolved report again."""

    staff: Staff
    report_id: int


@dataclass(frozen=True, slots=True)
class ChangeReport(Command[Report]):
    """Command: change the category and the rules of a report. None leaves a value as it is."""

    staff: Staff
    report_id: int
    category: Category | None = None
    rule_ids: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class NoteReport(Command[Report]):
    """Command: write a note on a report, which only staff reads."""

    staff: Staff
    report_id: int
    content: str


@act(AssignReport, None)
async def assign(act: StaffAct, message: AssignReport) -> Report | Refused:
    """Assign a report to a member of staff, or with None to no account."""
    db, to = act.db, message.to
    # Accounts before the report, as acts on accounts lock them, and both before a role is read.
    await moderation.hold(db, [id for id in (act.staff.account_id, to) if id is not None])
    if not await act.may(Permission.MANAGE_REPORTS):
        return NOT_ALLOWED
    report = await reports.lock(db, message.report_id)
    if report is None:
        return NOT_FOUND
    if report.assigned_account_id == to:
        return report
    if to is not None and not may(await moderation.role_of(db, to), Permission.MANAGE_REPORTS):
        return NO_STAFF
    await _log(act, "unassign" if to is None else "assign", report, to=None if to is None else str(to))
    return await reports.assign(db, report.id, to, act.now)


@act(ResolveReport, Permission.MANAGE_REPORTS)
async def resolve(act: StaffAct, message: ResolveReport) -> Report | Refused:
    """Resolve a report. A resolved report stays as it is."""
    report = await reports.lock(act.db, message.report_id)
    if report is None:
        return NOT_FOUND
    if report.action_taken_at is not None:
        return report
    await _log(act, "resolve", report)
    return await reports.close(act.db, report.id, act.staff.account_id, act.now)


@act(ReopenReport, Permission.MANAGE_REPORTS)
async def reopen(act: StaffAct, message: ReopenReport) -> Report | Refused:
    """Open a resolved report again."""
    report = await reports.lock(act.db, message.report_id)
    if report is None:
        return NOT_FOUND
    if report.action_taken_at is None:
        return report
    await _log(act, "reopen", report)
    return await reports.reopen(act.db, report.id, act.now)


@act(ChangeReport, Permission.MANAGE_REPORTS)
async def change(act: StaffAct, message: ChangeReport) -> Report | Refused:
    """Change what a report is about. Only a report about a violation names rules."""
    report = await reports.lock(act.db, message.report_id)
    if report is None:
        return NOT_FOUND
    about = message.category or report.category
    rules = report.rule_ids if message.rule_ids is None else message.rule_ids or None
    if (about, rules) == (report.category, report.rule_ids):
        return report
    if rules and about != "violation":
        return NO_RULES
    await _log(act, "update", report, category=about, rule_ids=[str(rule) for rule in rules or ()])
    return await reports.change(act.db, report.id, about, rules, act.now)


@act(NoteReport, Permission.MANAGE_REPORTS)
async def add_note(act: StaffAct, message: NoteReport) -> Report | Refused:
    """Store a note on a report, which only staff reads."""
    content = message.content
    if not content or len(content) > REPORT_NOTE_CHARACTERS:
        return TOO_LONG if content else BLANK
    report = await reports.lock(act.db, message.report_id)
    if report is None:
        return NOT_FOUND
    await reports.insert_note(act.db, ReportNote(act.ids.next(), report.id, act.staff.account_id, content, act.now))
    await _log(act, "note", report)
    return report


async def _log(act: StaffAct, action: str, report: Report, **details: object) -> None:
    target = (await accounts.find_many(act.db, [report.target_account_id])).get(report.target_account_id)
    await act.log(action, Target("report", report.id, "" if target is None else target.acct), "", **details)

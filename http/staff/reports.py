"""The pages of reports: the lists of open and resolved reports, and a report with its notes and forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from ...actors.commands.report_handling import AssignReport, ChangeReport, NoteReport, ReopenReport, ResolveReport
from ...actors.rules.limits import REPORT_NOTE_CHARACTERS
from ...actors.rules.roles import Permission
from ...actors.shown.reports import reported_statuses
from ...storage import admin_accounts, audit_log, reports, statuses
from ...storage.accounts import Account
from ...storage.audit_log import AuditEntry, AuditFilter
from ...storage.reports import Report
from ...storage.upkeep.paging import Page
from ..access.context import HttpContext, find_row
from ..admin.moderation import MOST_TEXT
from ..admin.reports import ReportQuery
from ..intake.parameters import Choice, MaybeIds, Prose
from ..views.reports import check_rules
from ..web.posts import posts_in
from .accounts import ACTS, STATUS_ACTS, line_of
from .member import StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage, listed

REPORTS = StaffPage("/admin/reports", Permission.MANAGE_REPORTS)
MOST_NOTES = 200
SHOWN_ACTS = 40
CATEGORIES = [("spam", "Spam"), ("legal", "Against the law"), ("violation", "Against a rule"), ("other", "Other")]
REPORT = StaffPage(
    "/admin/reports/<id>",
    Permission.MANAGE_REPORTS,
    {
        "assigned": "The report is yours.",
        "unassigned": "The report is assigned to no one.",
        "resolved": "The report is resolved.",
        "reopened": "The report is open again.",
        "noted": "The note is stored.",
        "changed": "The report was changed.",
        "acted": "Done. The audit log has it.",
    },
)


class NoteForm(StaffForm):
    content: Prose = ""


class ChangeForm(StaffForm):
    category: Annotated[Literal["spam", "legal", "violation", "other"] | None, Choice] = None
    rule_ids: MaybeIds = ()


@REPORTS.get("reports.html")
async def show(me: StaffMember, wanted: ReportQuery) -> Facts:
    """Show reports, the latest first."""
    found, links = await listed(me, wanted, reports.page, wanted.chosen())
    names = await names_in(me.context, found)
    return {"resolved": wanted.resolved, "reports": found, "names": names, "page_links": links}


@REPORT.get("report.html")
async def show_one(me: StaffMember, id: int, after: Done) -> Facts:
    """Show a report."""
    context = me.context
    report = await find_row(context, reports.find, id)
    notes = await context.database.read(reports.notes, id, MOST_NOTES)
    names = await names_in(context, [report], [note.account_id for note in notes])
    target = names.get(report.target_account_id)
    users = await context.database.read(admin_accounts.find_users, [report.target_account_id])
    shown = await reported_statuses(context.database, context.statuses, report.status_ids)
    wanted = [shown[status] for status in report.status_ids if status in shown]
    kept = await context.database.read(statuses.find_many, list(report.status_ids)) if report.status_ids else {}
    views = posts_in(context, wanted)
    return {
        "typed": NoteForm(),
        "report": report,
        "names": names,
        "line": None if target is None else line_of(target, users.get(target.id)),
        "posts": [(post.id, view, post.id in kept) for post, view in zip(wanted, views, strict=True)],
        "erased": len(report.status_ids) - len(wanted),
        "notes": notes,
        "most_note": REPORT_NOTE_CHARACTERS,
        "most_text": MOST_TEXT,
        "rules": (await context.operator_texts.current()).rules,
        "categories": CATEGORIES,
        "acts": [*ACTS, *(STATUS_ACTS if wanted else ())],
        "entries": await _log(me, id),
    }


@REPORT.post("/assign")
async def assign(me: StaffMember, id: int, posted: StaffForm) -> str:
    """Assign a report to the member, also if another moderator has it."""
    await me.ask(AssignReport(me.staff, id, me.user.account_id))
    return "assigned"


@REPORT.post("/unassign")
async def unassign(me: StaffMember, id: int, posted: StaffForm) -> str:
    """Assign a report to no member."""
    await me.ask(AssignReport(me.staff, id, None))
    return "unassigned"


@REPORT.post("/resolve")
async def resolve(me: StaffMember, id: int, posted: StaffForm) -> str:
    """Resolve a report."""
    await me.ask(ResolveReport(me.staff, id))
    return "resolved"


@REPORT.post("/reopen")
async def reopen(me: StaffMember, id: int, posted: StaffForm) -> str:
    """Open a resolved report again."""
    await me.ask(ReopenReport(me.staff, id))
    return "reopened"


@REPORT.post("/note", typed="typed")
async def note(me: StaffMember, id: int, posted: NoteForm) -> str:
    """Add a note to a report."""
    await me.ask(NoteReport(me.staff, id, posted.content))
    return "noted"


@REPORT.post("/change")
async def change(me: StaffMember, id: int, posted: ChangeForm) -> str:
    """Change the category of a report, and the rules that it names."""
    rule_ids = tuple(dict.fromkeys(posted.rule_ids or ())) if posted.category == "violation" else ()
    await check_rules(me.context, rule_ids)
    await me.ask(ChangeReport(me.staff, id, posted.category, rule_ids))
    return "changed"


async def _log(me: StaffMember, id: int) -> list[AuditEntry]:
    if not me.may(Permission.VIEW_AUDIT_LOG):
        return []
    wanted = AuditFilter(target_type="report", target_id=id)
    return await me.context.database.read(audit_log.page, wanted, Page(SHOWN_ACTS))


async def names_in(
    context: HttpContext, found: Sequence[Report], more: Iterable[int | None] = ()
) -> Mapping[int, Account]:
    """Return the accounts in reports, and the accounts with the ids `more`, by id."""
    named = [
        id
        for report in found
        for id in (
            report.account_id, report.target_account_id, report.assigned_account_id, report.action_taken_by_account_id
        )
    ]  # fmt: skip
    return await context.accounts.find_many([id for id in (*named, *more) if id is not None])

"""The page of one report: what it is about, who sees to it, notes, and the forms that act on it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ...actors.commands.report_handling import AssignReport, ChangeReport, NoteReport, ReopenReport, ResolveReport
from ...actors.kernel import Message
from ...actors.reports import reported_statuses
from ...actors.rules.limits import REPORT_NOTE_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import admin_accounts, audit_log, reports, statuses
from ...storage.audit_log import AuditEntry, AuditFilter
from ...storage.paging import Page
from ...storage.reports import Report
from ..access.context import HttpContext, find_row
from ..admin.moderation import MOST_TEXT
from ..answers.answer import Answer, redirect
from ..intake.parameters import Choice, MaybeIds, Prose
from ..intake.request import Request
from ..router import api
from ..views.reports import check_rules
from ..web.posts import posts_in
from .account import ACTS, STATUS_ACTS
from .accounts import line_of
from .listing import Done, with_done, words_of
from .member import StaffForm, StaffMember, staff_member, staff_sender
from .reports import names_in

PERMISSION = Permission.MANAGE_REPORTS
MOST_NOTES = 200
SHOWN_ACTS = 40
CATEGORIES = [("spam", "Spam"), ("legal", "Against the law"), ("violation", "Against a rule"), ("other", "Other")]
DONE = {
    "assigned": "The report is yours.",
    "unassigned": "The report is assigned to no one.",
    "resolved": "The report is resolved.",
    "reopened": "The report is open again.",
    "noted": "The note is stored.",
    "changed": "The report was changed.",
    "acted": "Done. The audit log has it.",
}


class NoteForm(StaffForm):
    content: Prose = ""


class ChangeForm(StaffForm):
    category: Annotated[Literal["spam", "legal", "violation", "other"] | None, Choice] = None
    rule_ids: MaybeIds = ()


@api.get("/admin/reports/<id>", page=True)
async def show(context: HttpContext, request: Request, id: int, after: Done) -> Answer:
    """Show one report."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, id, done=words_of(after, DONE))


@api.post("/admin/reports/<id>/assign", page=True)
async def assign(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """Take a report on, also from another moderator."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, id, AssignReport(me.staff, id, me.user.account_id), "assigned")


@api.post("/admin/reports/<id>/unassign", page=True)
async def unassign(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """Give a report back."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, id, AssignReport(me.staff, id, None), "unassigned")


@api.post("/admin/reports/<id>/resolve", page=True)
async def resolve(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """Resolve a report."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, id, ResolveReport(me.staff, id), "resolved")


@api.post("/admin/reports/<id>/reopen", page=True)
async def reopen(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """Open a resolved report again."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, id, ReopenReport(me.staff, id), "reopened")


@api.post("/admin/reports/<id>/note", page=True)
async def note(context: HttpContext, request: Request, id: int, posted: NoteForm) -> Answer:
    """Write a note on a report."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, id, NoteReport(me.staff, id, posted.content), "noted", written=posted.content)


@api.post("/admin/reports/<id>/change", page=True)
async def change(context: HttpContext, request: Request, id: int, posted: ChangeForm) -> Answer:
    """Change the category of a report, and the rules that it names."""
    me = await staff_sender(context, request, posted, PERMISSION)
    rule_ids = tuple(dict.fromkeys(posted.rule_ids or ())) if posted.category == "violation" else ()
    await check_rules(context, rule_ids)
    return await _done(me, id, ChangeReport(me.staff, id, posted.category, rule_ids), "changed")


async def _done(me: StaffMember, id: int, message: Message[Report], done: str, written: str = "") -> Answer:
    problem = await me.attempt(message)
    if problem is None:
        return redirect(with_done(f"/admin/reports/{id}", done))
    return await _page(me, id, problem=problem, written=written)


# `Any`: facts of a template.
async def _page(me: StaffMember, id: int, *, written: str = "", **facts: Any) -> Answer:
    context = me.context
    report = await find_row(context, reports.find, id)
    notes = await context.database.read(reports.notes, id, MOST_NOTES)
    names = await names_in(context, [report], [one.account_id for one in notes])
    target = names.get(report.target_account_id)
    users = await context.database.read(admin_accounts.find_users, [report.target_account_id])
    shown = await reported_statuses(context.database, context.statuses, report.status_ids)
    wanted = [shown[status] for status in report.status_ids if status in shown]
    kept = await context.database.read(statuses.find_many, list(report.status_ids)) if report.status_ids else {}
    return me.page(
        "report.html",
        written=written,
        report=report,
        names=names,
        line=None if target is None else line_of(target, users.get(target.id)),
        posts=[(one.id, view, one.id in kept) for one, view in zip(wanted, posts_in(context, wanted), strict=True)],
        erased=len(report.status_ids) - len(wanted),
        notes=notes,
        most_note=REPORT_NOTE_CHARACTERS,
        most_text=MOST_TEXT,
        rules=(await context.policies.current()).rules,
        categories=CATEGORIES,
        acts=[*ACTS, *(STATUS_ACTS if wanted else ())],
        entries=await _log(me, id),
        **facts,
    )


async def _log(me: StaffMember, id: int) -> list[AuditEntry]:
    if not me.may(Permission.VIEW_AUDIT_LOG):
        return []
    wanted = AuditFilter(target_type="report", target_id=id)
    return await me.context.database.read(audit_log.page, wanted, Page(SHOWN_ACTS))

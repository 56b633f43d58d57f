"""Reports, for staff: listed, shown, changed, assigned, resolved and reopened."""

from __future__ import annotations

from typing import Annotated, Literal

from ...actors.commands.report_handling import AssignReport, ChangeReport, ReopenReport, ResolveReport
from ...actors.rules.roles import Permission
from ...storage import reports
from ...storage.reports import Report, ReportFilter
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, array
from ..intake.paging import Paged
from ..intake.parameters import AccountId, Choice, Flag, Input, MaybeIds
from ..intake.request import Request
from ..router import Declaration, api
from ..views.reports import check_rules, render_reports
from ..views.staff import listed, staff_of

READING: Declaration = {
    "auth": "user", "scopes": ("admin:read:reports",), "permission": Permission.MANAGE_REPORTS,
}  # fmt: skip
WRITING: Declaration = {
    "auth": "user", "scopes": ("admin:write:reports",), "permission": Permission.MANAGE_REPORTS,
}  # fmt: skip


class ReportQuery(Paged):
    """The filters of the list. Without `resolved` it has open reports."""

    resolved: Flag = False
    account_id: AccountId = None
    target_account_id: AccountId = None

    def chosen(self) -> ReportFilter:
        return ReportFilter(self.resolved, self.account_id, self.target_account_id)


class ReportChange(Input):
    """The changes. A value that is not given does not change."""

    category: Annotated[Literal["spam", "legal", "violation", "other"] | None, Choice] = None
    rule_ids: MaybeIds = None


@api.get("/api/v1/admin/reports", **READING, returns="[Admin.Report]")
async def show_all(context: HttpContext, request: Request, viewer: Viewer, wanted: ReportQuery) -> Answer:
    """A page of reports, the latest first."""
    found, links = await listed(context, request, wanted, reports.page, wanted.chosen())
    return array(await render_reports(context, viewer, found), links)


@api.get("/api/v1/admin/reports/<id>", **READING, returns="Admin.Report")
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    found = await find_row(context, reports.find, id)
    return await _answer(context, viewer, found)


@api.put("/api/v1/admin/reports/<id>", **WRITING, returns="Admin.Report")
async def update(context: HttpContext, viewer: Viewer, id: int, wanted: ReportChange) -> Answer:
    """Change the category of a report, and the rules that it names."""
    rule_ids = None if wanted.rule_ids is None else tuple(dict.fromkeys(wanted.rule_ids))
    await check_rules(context, rule_ids or ())
    message = ChangeReport(await staff_of(context, viewer), id, wanted.category, rule_ids)
    return await _answer(context, viewer, await viewer.ask(message))


@api.post("/api/v1/admin/reports/<id>/assign_to_self", **WRITING, returns="Admin.Report")
async def assign_to_self(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Assign a report to the viewer, also if another moderator has it."""
    message = AssignReport(await staff_of(context, viewer), id, viewer.account_id)
    return await _answer(context, viewer, await viewer.ask(message))


@api.post("/api/v1/admin/reports/<id>/unassign", **WRITING, returns="Admin.Report")
async def unassign(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    message = AssignReport(await staff_of(context, viewer), id, None)
    return await _answer(context, viewer, await viewer.ask(message))


@api.post("/api/v1/admin/reports/<id>/resolve", **WRITING, returns="Admin.Report")
async def resolve(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return await _answer(context, viewer, await viewer.ask(ResolveReport(await staff_of(context, viewer), id)))


@api.post("/api/v1/admin/reports/<id>/reopen", **WRITING, returns="Admin.Report")
async def reopen(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    return await _answer(context, viewer, await viewer.ask(ReopenReport(await staff_of(context, viewer), id)))


async def _answer(context: HttpContext, viewer: Viewer, report: Report) -> Answer:
    return Answer((await render_reports(context, viewer, [report]))[0])

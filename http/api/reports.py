"""Reports to the staff about accounts and their statuses."""

from __future__ import annotations

from typing import Annotated, Literal

from ...actors.commands.reports import FileReport
from ...actors.rules.limits import REPORT_COMMENT_CHARACTERS, REPORT_STATUSES
from ...actors.shown.reports import ShownReport
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound, invalid
from ..entities.report import report_fields
from ..intake.parameters import AccountId, Choice, Flag, Ids, Input, Prose
from ..router import api
from ..views.reports import check_rules


class NewReportForm(Input):
    """The content of a report. With `forward`, the server of a remote account gets the report too."""

    account_id: AccountId = None
    status_ids: Ids = ()
    comment: Prose = ""
    forward: Flag = False
    category: Annotated[Literal["spam", "legal", "violation", "other"], Choice] = "other"
    rule_ids: Ids = ()


@api.post("/api/v1/reports", auth="user", scopes=("write:reports",), rates=(rates.REPORTS,), returns="Report")
async def file_report(context: HttpContext, viewer: Viewer, form: NewReportForm) -> Answer:
    """Report an account to the staff of this server."""
    if len(form.comment) > REPORT_COMMENT_CHARACTERS:
        raise invalid(f"Comment is too long (maximum is {REPORT_COMMENT_CHARACTERS} characters)")
    status_ids, rule_ids = tuple(dict.fromkeys(form.status_ids)), tuple(dict.fromkeys(form.rule_ids))
    if len(status_ids) > REPORT_STATUSES:
        raise invalid(f"Status ids is too long (maximum is {REPORT_STATUSES} items)")
    await check_rules(context, rule_ids)
    if form.account_id is None:
        raise NotFound
    message = FileReport(form.account_id, status_ids, rule_ids, form.category, form.comment, forward=form.forward)
    report = await viewer.ask(message)
    target = await context.accounts.find(report.target_account_id)
    if target is None:
        raise NotFound
    return json(report_fields(ShownReport(report, target), context.rendered, context.settings.base_url))

"""The page that lists reports: those that are open, or resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...actors.rules.roles import Permission
from ...storage import reports
from ...storage.accounts import Account
from ...storage.reports import Report, ReportFilter
from ..access.context import HttpContext
from ..admin.reports import ReportQuery
from ..answers.answer import Answer
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, page_links
from .member import staff_member

PERMISSION = Permission.MANAGE_REPORTS


@api.get("/admin/reports", page=True)
async def show(context: HttpContext, request: Request, wanted: ReportQuery) -> Answer:
    """Show reports, the latest first."""
    me = await staff_member(context, request, PERMISSION)
    page = wanted.page(ON_A_PAGE)
    chosen = ReportFilter(wanted.resolved, wanted.account_id, wanted.target_account_id)
    found = await context.database.read(reports.page, chosen, page)
    return me.page(
        "reports.html",
        resolved=wanted.resolved,
        reports=found,
        names=await names_in(context, found),
        page_links=page_links(request, page, [one.id for one in found]),
    )


async def names_in(
    context: HttpContext, found: Sequence[Report], more: Iterable[int | None] = ()
) -> Mapping[int, Account]:
    """Return the accounts that reports name, and `more` of them, by id."""
    named = [
        id
        for one in found
        for id in (
            one.account_id, one.target_account_id, one.assigned_account_id, one.action_taken_by_account_id
        )
    ]  # fmt: skip
    return await context.accounts.find_many([id for id in (*named, *more) if id is not None])

"""The page that lists reports: those that are open, or resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...actors.rules.roles import Permission
from ...storage import reports
from ...storage.accounts import Account
from ...storage.reports import Report, ReportFilter
from ..access.context import HttpContext
from ..admin.reports import ReportQuery
from .member import StaffMember
from .staff_page import Facts, StaffPage, listed

REPORTS = StaffPage("/admin/reports", Permission.MANAGE_REPORTS)


@REPORTS.get("reports.html")
async def show(me: StaffMember, wanted: ReportQuery) -> Facts:
    """Show reports, the latest first."""
    chosen = ReportFilter(wanted.resolved, wanted.account_id, wanted.target_account_id)
    found, links = await listed(me, wanted, reports.page, chosen)
    names = await names_in(me.context, found)
    return {"resolved": wanted.resolved, "reports": found, "names": names, "page_links": links}


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

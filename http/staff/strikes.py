"""The page of appeals that wait for a decision."""

from __future__ import annotations

from ...actors.commands.strikes import DecideAppeal
from ...actors.rules.roles import Permission
from ...storage import strikes
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, redirect
from ..intake.paging import Paged
from ..intake.parameters import Flag
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import StaffForm, StaffMember, staff_member, staff_sender

PERMISSION = Permission.MANAGE_APPEALS
DONE = {"approved": "The appeal was approved. The strike counts no more.", "rejected": "The appeal was rejected."}


class AppealQuery(Paged, Done):
    """A page of appeals."""


class DecisionForm(StaffForm):
    approved: Flag = False


@api.get("/admin/appeals", page=True)
async def show(context: HttpContext, request: Request, wanted: AppealQuery) -> Answer:
    """Show the appeals that wait, the newest first."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, wanted)


@api.post("/admin/appeals/<id>", page=True)
async def decide(context: HttpContext, request: Request, id: int, posted: DecisionForm) -> Answer:
    """End a strike and what it did, or let it stand."""
    me = await staff_sender(context, request, posted, PERMISSION)
    struck = await find_row(context, strikes.find_appealed, id)
    problem = await me.attempt(DecideAppeal(me.staff, id, posted.approved), struck.target_account_id)
    if problem is not None:
        return await _page(me, AppealQuery(), problem)
    return redirect(with_done("/admin/appeals", "approved" if posted.approved else "rejected"))


async def _page(me: StaffMember, wanted: AppealQuery, problem: str | None = None) -> Answer:
    page, context = wanted.page(ON_A_PAGE), me.context
    found = await context.database.read(strikes.open_appeals, page)
    named = [id for one in found for id in (one.target_account_id, one.account_id) if id is not None]
    return me.page(
        "appeals.html",
        problem=problem,
        done=words_of(wanted, DONE),
        strikes=found,
        names=await context.accounts.find_many(named),
        page_links=page_links(me.request, page, [one.appeal_id for one in found if one.appeal_id is not None]),
    )

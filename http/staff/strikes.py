"""The page of appeals that wait for a decision."""

from __future__ import annotations

from ...actors.commands.strikes import DecideAppeal
from ...actors.rules.roles import Permission
from ...storage import strikes
from ..access.context import find_row
from ..intake.parameters import Flag
from .member import StaffForm, StaffMember
from .staff_page import ON_A_PAGE, Facts, ListQuery, StaffPage, page_links

APPEALS = StaffPage(
    "/admin/appeals",
    Permission.MANAGE_APPEALS,
    {"approved": "The appeal was approved. The strike counts no more.", "rejected": "The appeal was rejected."},
)


class DecisionForm(StaffForm):
    approved: Flag = False


@APPEALS.get("appeals.html")
async def show(me: StaffMember, wanted: ListQuery) -> Facts:
    """Show the appeals that wait, the newest first."""
    page = wanted.page(ON_A_PAGE)
    found = await me.context.database.read(strikes.open_appeals, page)
    named = [id for strike in found for id in (strike.target_account_id, strike.account_id) if id is not None]
    ids = [strike.appeal_id for strike in found if strike.appeal_id is not None]
    return {
        "strikes": found,
        "names": await me.context.accounts.find_many(named),
        "page_links": page_links(me.request, page, ids),
    }


@APPEALS.post("/<id>")
async def decide(me: StaffMember, id: int, posted: DecisionForm) -> str:
    """Approve the appeal, which ends the strike and undoes its action, or reject the appeal."""
    struck = await find_row(me.context, strikes.find_appealed, id)
    await me.ask(DecideAppeal(me.staff, id, posted.approved), struck.target_account_id)
    return "approved" if posted.approved else "rejected"

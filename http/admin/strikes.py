"""Appeals against strikes, for staff. Only Troupe has these endpoints; the reference has pages."""

from __future__ import annotations

from ...actors.broadcast.broadcast import account_address
from ...actors.commands.strikes import DecideAppeal
from ...actors.rules.roles import Permission
from ...storage import strikes
from ...storage.strikes import Strike
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, array
from ..answers.errors import NotFound
from ..entities.report import appeal_json
from ..intake.paging import Paged, links
from ..intake.request import Request
from ..router import api
from ..views.staff import staff_of

READ = ("admin:read:accounts", "admin:read")
WRITE = ("admin:write:accounts", "admin:write")
ON_A_PAGE = 40


@api.get(
    "/api/v1/admin/appeals", auth="user", scopes=READ, permission=Permission.MANAGE_APPEALS, returns="[Admin.Appeal]"
)
async def show_appeals(context: HttpContext, request: Request, paged: Paged) -> Answer:
    """Appeals that wait for a decision, newest first."""
    found = await context.database.read(strikes.open_appeals, paged.page(ON_A_PAGE))
    ids = [strike.appeal_id for strike in found if strike.appeal_id is not None]
    return array(
        [await _render(context, strike) for strike in found],
        links(context.settings.base_url + request.path, request.query_texts, ids),
    )


@api.post(
    "/api/v1/admin/appeals/<id>/approve",
    auth="user",
    scopes=WRITE,
    permission=Permission.MANAGE_APPEALS,
    returns="Admin.Appeal",
)
async def approve(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Approve an appeal: end the strike, and undo its action."""
    return await _decide(context, viewer, id, approved=True)


@api.post(
    "/api/v1/admin/appeals/<id>/reject",
    auth="user",
    scopes=WRITE,
    permission=Permission.MANAGE_APPEALS,
    returns="Admin.Appeal",
)
async def reject(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Reject an appeal."""
    return await _decide(context, viewer, id, approved=False)


async def _decide(context: HttpContext, viewer: Viewer, id: int, *, approved: bool) -> Answer:
    struck = await _find(context, id)
    message = DecideAppeal(await staff_of(context, viewer), id, approved)
    await viewer.ask(message, account_address(struck.target_account_id))
    return Answer(await _render(context, await _find(context, id)))


async def _find(context: HttpContext, id: int) -> Strike:
    return await find_row(context, strikes.find_appealed, id)


async def _render(context: HttpContext, struck: Strike) -> bytes:
    target = await context.accounts.find(struck.target_account_id)
    if target is None:
        raise NotFound
    return appeal_json(struck, target, context.rendered, context.settings.base_url)

"""The page of a strike for its user, with the form for an appeal.

Users who may not sign in any more use the link in a mail. Apps open the path with the id.
"""

from __future__ import annotations

from ...actors.broadcast.broadcast import account_address
from ...actors.commands.strikes import APPEAL_WITHIN, MOST_APPEAL_TEXT, Appeal, may_be_appealed
from ...actors.kernel import Refused
from ...storage import strikes
from ...storage.secrets import hash_of
from ...storage.strikes import Strike
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..entities.report import state_of
from ..intake.parameters import Input, MaybeText, Prose, Text
from ..intake.request import Request
from ..oauth import sessions
from ..oauth.page_frames import form_page
from ..router import api
from .signed_in import OUTDATED, signed_in

BY_LINK = "/disputes/strike"
BY_ID = "/disputes/strikes/<id>"


class StrikeLink(Input):
    token: Text = ""


class AppealForm(StrikeLink):
    form_token: MaybeText = None
    text: Prose = ""


@api.get(BY_LINK, page=True)
async def show_linked(context: HttpContext, request: Request, link: StrikeLink) -> Answer:
    """Show the strike of a link in a mail."""
    return await _page(context, request, await _linked(context, link), link.token)


@api.post(BY_LINK, page=True, rates=(rates.PASSWORD_RESETS,))
async def appeal_linked(context: HttpContext, request: Request, posted: AppealForm) -> Answer:
    """Appeal by a link in a mail."""
    return await _appeal(context, request, await _linked(context, posted), posted)


@api.get(BY_ID, page=True)
async def show(context: HttpContext, request: Request, id: int) -> Answer:
    """Show a strike of the signed-in user."""
    return await _page(context, request, await _own(context, request, id))


@api.post(BY_ID, page=True, rates=(rates.PASSWORD_RESETS,))
async def appeal(context: HttpContext, request: Request, id: int, posted: AppealForm) -> Answer:
    """Appeal as the signed-in user."""
    return await _appeal(context, request, await _own(context, request, id), posted)


async def _linked(context: HttpContext, link: StrikeLink) -> Strike:
    id = await context.database.read(strikes.find_link, hash_of(link.token), context.clock.now())
    return await _find(context, id)


async def _own(context: HttpContext, request: Request, id: int) -> Strike:
    me = await signed_in(context, request)
    found = await _find(context, id)
    if found.target_account_id != me.user.account_id:
        raise NotFound
    return found


async def _find(context: HttpContext, id: int | None) -> Strike:
    found = None if id is None else await context.database.read(strikes.find, id)
    if found is None:
        raise NotFound
    return found


async def _appeal(context: HttpContext, request: Request, struck: Strike, posted: AppealForm) -> Answer:
    if not sessions.is_own_form(sessions.secret_of(request), posted.form_token):
        return await _page(context, request, struck, posted.token, sessions.refusal_of(request, OUTDATED), posted.text)
    address = account_address(struck.target_account_id)
    try:
        await context.runtime.ask(address, Appeal(struck.id, posted.text), origin=request.origin)
    except Refused as refused:
        problem = refused.text.removeprefix("Validation failed: ")
        return await _page(context, request, struck, posted.token, f"{problem}.", posted.text)
    return await _page(context, request, await _find(context, struck.id), posted.token)


async def _page(
    context: HttpContext, request: Request, struck: Strike, token: str = "", problem: str | None = None, text: str = ""
) -> Answer:
    return await form_page(
        context,
        request,
        "strike.html",
        status=422 if problem else 200,
        strike=struck,
        action=BY_LINK if token else BY_ID.replace("<id>", str(struck.id)),
        token=token,
        state=None if struck.appeal_id is None else state_of(struck),
        open=may_be_appealed(struck) and context.clock.now() <= struck.created_at + APPEAL_WITHIN,
        most=MOST_APPEAL_TEXT,
        problem=problem,
        text=text,
    )

"""The page that deletes the account."""

from __future__ import annotations

from ...actors.commands.account_deletions import DeleteAccount
from ...storage import two_factor
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.request import Request
from ..oauth import sessions
from ..oauth.page_frames import framed_page
from ..router import api
from .signed_in import SignedIn, sender_of, signed_in
from .two_factor import CodeForm, problems_of


@api.get("/settings/delete", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the consequences, and the form."""
    return await _page(await signed_in(context, request))


@api.post("/settings/delete", page=True)
async def delete(context: HttpContext, request: Request, posted: CodeForm) -> Answer:
    """Delete the account. This can't be undone."""
    me = await sender_of(context, request, posted)
    if problems := await problems_of(me, posted):
        return await _page(me, problems)
    await me.ask(DeleteAccount())
    made = await framed_page(context, request, "account_deleted.html", username=me.user.username)
    return sessions.with_cookie(context, made, context.secret())


async def _page(me: SignedIn, problems: dict[str, str] | None = None) -> Answer:
    needs_code = await me.context.database.read(two_factor.is_enabled, me.user.account_id)
    status = 422 if problems else 200
    return me.page("delete_account.html", status=status, needs_code=needs_code, problems=problems or {})

"""The page of invites: made, copied, ended."""

from __future__ import annotations

from typing import Any

from ...actors.commands.invites import COMMENT_CHARACTERS, CreateInvite, ExpireInvite, NewInvite
from ...actors.rules.roles import Permission
from ...storage import invites
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Count, Line, Text
from ..intake.request import Request
from ..router import api
from .listing import Done, with_done, words_of
from .member import StaffForm, StaffMember, staff_member, staff_sender

PERMISSION = Permission.MANAGE_INVITES
PATH = "/admin/invites"
MOST_USES, MOST_DAYS = 100_000, 3650
# An address that can't be guessed is as long as the sessions' secrets, and is cut to what people can send on.
CODE_CHARACTERS = 16
DONE = {"made": "The invite was made.", "ended": "The invite is ended. Accounts that were made with it stay."}


class InviteForm(StaffForm):
    uses: Count = None
    days: Count = None
    comment: Line = ""


class EndForm(StaffForm):
    code: Text = ""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, after: Done) -> Answer:
    """Show all invites, the newest first, and the form that makes one."""
    return await _page(await staff_member(context, request, PERMISSION), done=words_of(after, DONE))


@api.post(PATH, page=True)
async def create(context: HttpContext, request: Request, posted: InviteForm) -> Answer:
    """Make an invite of the member's own."""
    me = await staff_sender(context, request, posted, PERMISSION)
    if not (_within(posted.uses, MOST_USES) and _within(posted.days, MOST_DAYS)):
        return await _page(me, problem=f"Choose up to {MOST_USES} uses and {MOST_DAYS} days, or leave them empty.")
    code = context.secret()[:CODE_CHARACTERS]
    wanted = NewInvite(code, posted.uses, posted.days, posted.comment, me.user.account_id)
    problem = await me.attempt(CreateInvite(me.staff, wanted))
    return redirect(with_done(PATH, "made")) if problem is None else await _page(me, problem=problem)


@api.post(f"{PATH}/end", page=True)
async def end(context: HttpContext, request: Request, posted: EndForm) -> Answer:
    """End an invite."""
    me = await staff_sender(context, request, posted, PERMISSION)
    problem = await me.attempt(ExpireInvite(me.staff, posted.code))
    return redirect(with_done(PATH, "ended")) if problem is None else await _page(me, problem=problem)


def _within(count: int | None, most: int) -> bool:
    return count is None or 1 <= count <= most


# `Any`: facts of a template.
async def _page(me: StaffMember, **facts: Any) -> Answer:
    context = me.context
    found, now = await context.database.read(invites.find_all), context.clock.now()
    return me.page(
        "invites.html",
        invites=[(one, one.is_valid(now)) for one in reversed(found)],
        names=await context.accounts.find_many([one.account_id for one in found if one.account_id is not None]),
        address=f"{context.settings.base_url}/auth/sign_up?invite=",
        most_comment=COMMENT_CHARACTERS,
        **facts,
    )

"""The page of invites: made, copied, ended."""

from __future__ import annotations

from ...actors.commands.invites import COMMENT_CHARACTERS, CreateInvite, ExpireInvite, NewInvite
from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...storage import invites
from ..intake.parameters import Count, Line, Text
from .member import StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage

MOST_USES, MOST_DAYS = 100_000, 3650
# An address that can't be guessed is as long as the sessions' secrets, and is cut to what people can send on.
CODE_CHARACTERS = 16
INVITES = StaffPage(
    "/admin/invites",
    Permission.MANAGE_INVITES,
    {"made": "The invite was made.", "ended": "The invite is ended. Accounts that were made with it stay."},
)


class InviteForm(StaffForm):
    uses: Count = None
    days: Count = None
    comment: Line = ""


class EndForm(StaffForm):
    code: Text = ""


@INVITES.get("invites.html")
async def show(me: StaffMember, after: Done) -> Facts:
    """Show all invites, the newest first, and the form that makes one."""
    context = me.context
    found, now = await context.database.read(invites.find_all), context.clock.now()
    return {
        "invites": [(one, one.is_valid(now)) for one in reversed(found)],
        "names": await context.accounts.find_many([one.account_id for one in found if one.account_id is not None]),
        "address": f"{context.settings.base_url}/auth/sign_up?invite=",
        "most_comment": COMMENT_CHARACTERS,
    }


@INVITES.post()
async def create(me: StaffMember, posted: InviteForm) -> str:
    """Make an invite of the member's own."""
    if not (_within(posted.uses, MOST_USES) and _within(posted.days, MOST_DAYS)):
        raise Refused(422, f"Choose up to {MOST_USES} uses and {MOST_DAYS} days, or leave them empty.")
    code = me.context.secret()[:CODE_CHARACTERS]
    wanted = NewInvite(code, posted.uses, posted.days, posted.comment, me.user.account_id)
    await me.ask(CreateInvite(me.staff, wanted))
    return "made"


@INVITES.post("/end")
async def end(me: StaffMember, posted: EndForm) -> str:
    """End an invite."""
    await me.ask(ExpireInvite(me.staff, posted.code))
    return "ended"


def _within(count: int | None, most: int) -> bool:
    return count is None or 1 <= count <= most

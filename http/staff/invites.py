"""The page of invites: created, copied and ended."""

from __future__ import annotations

from ...actors.commands.invites import COMMENT_CHARACTERS, CreateInvite, ExpireInvite, NewInvite
from ...actors.kernel import Refused
from ...actors.rules.roles import Permission
from ...storage import invites
from ...storage.secrets import without_dashes
from ..intake.parameters import Count, Line, Text
from .member import StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage

MOST_USES, MOST_DAYS = 100_000, 3650
# Long enough that a code can't be guessed, and short enough to share.
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
    """Show all invites, the newest first, and the form for a new invite."""
    context = me.context
    found, now = await context.database.read(invites.find_all), context.clock.now()
    return {
        "invites": [(invite, invite.is_valid(now)) for invite in reversed(found)],
        "names": await context.accounts.find_many(
            invite.account_id for invite in found if invite.account_id is not None
        ),
        "address": f"{context.settings.base_url}/auth/sign_up?invite=",
        "most_comment": COMMENT_CHARACTERS,
    }


@INVITES.post()
async def create(me: StaffMember, posted: InviteForm) -> str:
    """Create an invite in the name of the member."""
    if not (_within(posted.uses, MOST_USES) and _within(posted.days, MOST_DAYS)):
        raise Refused(422, f"Choose up to {MOST_USES} uses and {MOST_DAYS} days, or leave them empty.")
    code = without_dashes(me.context.secret()[:CODE_CHARACTERS])
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

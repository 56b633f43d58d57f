"""Acts of staff on accounts: warn, disable, silence, suspend, mark as sensitive, and undo each."""

from __future__ import annotations

from typing import Annotated, Literal

from ...actors.broadcast import account_address
from ...actors.commands.moderation import ModerateAccount
from ...actors.rules.roles import Permission
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..intake.ids import ReportId
from ..intake.input import Input
from ..intake.parameters import Choice, Flag, Text
from ..router import api
from ..views.staff import staff_of

WRITE = ("admin:write:accounts",)


class ActionParameters(Input):
    """What staff do to an account."""

    type: Annotated[Literal["none", "sensitive", "disable", "silence", "suspend"], Choice]
    report_id: ReportId = None
    text: Text = ""
    send_email_notification: Flag = False


@api.post(
    "/api/v1/admin/accounts/<id>/action",
    auth="user",
    scopes=WRITE,
    permission=Permission.MANAGE_USERS,
)
async def act(context: HttpContext, viewer: Viewer, id: int, wanted: ActionParameters) -> Answer:
    """Put an account in a state, or warn its user."""
    message = ModerateAccount(
        await staff_of(context, viewer), wanted.type, wanted.text, wanted.report_id, wanted.send_email_notification
    )
    await viewer.ask(message, account_address(id))
    return json({})

"""Acts of staff on accounts: warn, disable, silence, suspend, mark as sensitive, and undo each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...actors.broadcast.broadcast import account_address
from ...actors.commands.moderation import ModerateAccount
from ...actors.commands.strikes import ModerateStatuses
from ...actors.kernel import Message
from ...actors.rules.roles import Permission
from ...actors.staff.acts import Staff
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..intake.parameters import Choice, Flag, Ids, Input, Prose, ReportId
from ..router import api
from ..views.staff import staff_of

WRITE = ("admin:write:accounts",)


MOST_TEXT = 2000  # characters
# Those of statuses are Troupe's own here: the reference has them on its pages alone.
ActionType = Literal[
    "none", "sensitive", "disable", "silence", "suspend", "delete_statuses", "mark_statuses_as_sensitive"
]


class ActionParameters(Input):
    """An act of staff on an account, or on statuses of it."""

    type: Annotated[ActionType, Choice]
    report_id: ReportId = None
    text: Annotated[Prose, Field(max_length=MOST_TEXT)] = ""
    status_ids: Ids = ()
    send_email_notification: Flag = False


@api.post(
    "/api/v1/admin/accounts/<id>/action",
    auth="user",
    scopes=WRITE,
    permission=Permission.MANAGE_USERS,
    returns="{}",
)
async def act(context: HttpContext, viewer: Viewer, id: int, wanted: ActionParameters) -> Answer:
    """Put an account in a state, warn its user, or act on statuses of it."""
    await viewer.ask(command_of(await staff_of(context, viewer), wanted), account_address(id))
    return json({})


def command_of(staff: Staff, wanted: ActionParameters) -> Message[None]:
    """Return the command to the account that it is done to."""
    mailed = wanted.send_email_notification
    match wanted.type:
        case "delete_statuses" | "mark_statuses_as_sensitive" as type:
            return ModerateStatuses(staff, type, wanted.status_ids, wanted.text, wanted.report_id, mailed)
        case type:
            return ModerateAccount(staff, type, wanted.text, wanted.report_id, mailed)

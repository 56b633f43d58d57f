"""Actions of staff on accounts: warn, disable, silence, suspend, mark as sensitive, and actions on statuses."""

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
# The actions on statuses are only Troupe's API: the reference has them only on its pages.
ActionType = Literal[
    "none", "sensitive", "disable", "silence", "suspend", "delete_statuses", "mark_statuses_as_sensitive"
]


class ActionParameters(Input):
    """An action of staff on an account, or on its statuses."""

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
    """Set a state of an account, warn its user, or act on its statuses."""
    await viewer.ask(command_of(await staff_of(context, viewer), wanted), account_address(id))
    return json({})


def command_of(staff: Staff, wanted: ActionParameters) -> Message[None]:
    """Return the command for the target account."""
    mailed = wanted.send_email_notification
    match wanted.type:
        case "delete_statuses" | "mark_statuses_as_sensitive" as type:
            return ModerateStatuses(staff, type, wanted.status_ids, wanted.text, wanted.report_id, mailed)
        case type:
            return ModerateAccount(staff, type, wanted.text, wanted.report_id, mailed)

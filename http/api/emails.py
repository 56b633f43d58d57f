"""The address of a user who signed up through an app: whether it is confirmed, and another mail to confirm it by."""

from __future__ import annotations

from ...actors.commands.registration import NOT_AWAITED, ResendConfirmation
from ...actors.rules.complaints import refusal
from ...actors.rules.mailboxes import mailbox_of
from ...actors.rules.registration import complaints_about_email
from ...storage import users
from .. import rates
from ..answer import EMPTY, Answer, json
from ..authentication import Viewer
from ..errors import Forbidden, NotFound
from ..house import House
from ..parameters import Input, Text
from ..routing import api
from ..signing_up import count_mail

OTHER_APP = "This method is only available to the application the user originally signed-up with"


class NewEmail(Input):
    email: Text = ""


@api.post(
    "/api/v1/emails/confirmations",
    auth="user",
    scopes=("write:accounts",),
    rates=(rates.CONFIRMATIONS, rates.CONFIRMATIONS_OF_USER),
    waiting=True,
)
async def resend_confirmation(house: House, viewer: Viewer, given: NewEmail) -> Answer:
    """Another mail, and to another address if one is given."""
    user = await house.database.read(users.find_user, viewer.account_id)
    if user is None:
        raise NotFound
    if user.created_by_application_id != viewer.token.application_id:
        raise Forbidden(OTHER_APP)
    if user.confirmed_at is not None:
        raise NOT_AWAITED
    if given.email and (found := list(complaints_about_email(given.email, house.settings.local_domain))):
        raise refusal(found)
    email = mailbox_of(given.email, house.settings.local_domain)
    count_mail(house, email or user.email)
    await viewer.ask(ResendConfirmation(email))
    return EMPTY


@api.get("/api/v1/emails/check_confirmation", auth="user", scopes=("read:accounts",), waiting=True)
async def check_confirmation(viewer: Viewer) -> Answer:
    """`true` or `false`, nothing around it."""
    return json(viewer.token.confirmed_at is not None)

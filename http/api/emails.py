"""The e-mail address of a user who signed up through an app: its state, and another confirmation mail."""

from __future__ import annotations

from ...actors.commands.registration import NOT_AWAITED, ResendConfirmation
from ...actors.rules.complaints import refusal
from ...actors.rules.mailboxes import mailbox_of
from ...actors.rules.registration import blocked, complaints_about_email
from ...storage import users
from ..access import rates
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import Forbidden
from ..intake.parameters import Input, Text
from ..intake.request import Request
from ..oauth.registration import verdict_on
from ..router import api

OTHER_APP = "This method is only available to the application the user originally signed-up with"


class NewEmail(Input):
    email: Text = ""


@api.post(
    "/api/v1/emails/confirmations",
    auth="user",
    scopes=("write:accounts",),
    rates=(rates.CONFIRMATIONS, rates.CONFIRMATIONS_OF_USER),
    waiting=True,
    returns="{}",
)
async def resend_confirmation(context: HttpContext, request: Request, viewer: Viewer, given: NewEmail) -> Answer:
    """Send another confirmation mail, to the address in `email` if it is given."""
    user = await find_row(context, users.find_user, viewer.account_id)
    if user.created_by_application_id != viewer.token.application_id:
        raise Forbidden(OTHER_APP)
    if user.confirmed_at is not None:
        raise NOT_AWAITED
    if given.email and (found := list(complaints_about_email(given.email, context.settings.local_domain))):
        raise refusal(found)
    email = mailbox_of(given.email, context.settings.local_domain)
    await context.limits.count_mail(email or user.email)
    if email is not None:
        await _check(context, request, email)
    await viewer.ask(ResendConfirmation(email))
    return EMPTY


async def _check(context: HttpContext, request: Request, email: str) -> None:
    """Raise a refusal if the address is not allowed, or would need an approval that the sign-up did not need."""
    verdict = await verdict_on(context, email, request.address(context.settings.trusted_proxies))
    if verdict.complaint is not None or verdict.needs_approval:
        raise refusal([verdict.complaint or blocked()])


@api.get("/api/v1/emails/check_confirmation", auth="user", scopes=("read:accounts",), waiting=True, returns="bool")
async def check_confirmation(viewer: Viewer) -> Answer:
    """True if the address is confirmed. The whole body is `true` or `false`."""
    return json(viewer.token.confirmed_at is not None)

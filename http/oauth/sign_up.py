"""The sign-up page, for people without an app."""

from __future__ import annotations

from ...actors.kernel import Refused
from ...actors.rules import registration as rules
from ...actors.rules.languages import language_code
from ...actors.rules.registration import SignUpData
from ...actors.rules.usernames import USERNAME_CHARACTERS
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import Forbidden
from ..intake.parameters import Input, MaybeText, Prose, Text
from ..intake.request import Request
from ..router import api
from . import sessions
from .page_frames import form_page, framed_page
from .registration import check, is_open, sign_up, valid_invite

CLOSED = "Sign-ups are closed at the moment."
OUTDATED = "This page was open for too long. Please send it again."
EMPTY = SignUpData("", "", "", False, "", "")
BOUNDS = {
    "username": USERNAME_CHARACTERS,
    "email": rules.EMAIL_CHARACTERS,
    "password_min": rules.PASSWORD_CHARACTERS_MIN,
    "password": rules.PASSWORD_CHARACTERS,
    "reason": rules.REASON_CHARACTERS,
}
# The names of attributes in the errors on the page.
WORDS = {"password": "The password", "username": "The name", "email": "The address", "reason": "The answer"}


class InviteLink(Input):
    invite: Text = ""


class SignUpForm(Input):
    form_token: MaybeText = None
    username: Text = ""
    email: Text = ""
    password: Text = ""
    agreement: Text = ""
    reason: Prose = ""
    invite: Text = ""

    def form(self, locale: str) -> SignUpData:
        agreed = self.agreement == "1"
        return SignUpData(self.username.strip(), self.email.strip(), self.password, agreed, locale, self.reason)


@api.get("/auth/sign_up", page=True)
async def show(context: HttpContext, request: Request, link: InviteLink) -> Answer:
    """Show the empty form, or a page that sign-ups are closed."""
    invite = await valid_invite(context, link.invite)
    if not is_open(context, invite):
        return await framed_page(context, request, "error.html", title="Sign-ups are closed", text=CLOSED)
    return await _page(context, request, EMPTY, {}, invite)


@api.post("/auth/sign_up", page=True, rates=(rates.SIGN_UP_FORMS,))
async def act(context: HttpContext, request: Request, posted: SignUpForm) -> Answer:
    """Check a form, and create the account."""
    invite = await valid_invite(context, posted.invite)
    if not is_open(context, invite):
        raise Forbidden(CLOSED)
    form = posted.form(_language(request))
    if not sessions.is_own_form(sessions.secret_of(request), posted.form_token):
        return await _page(context, request, form, {"form": sessions.refusal_of(request, OUTDATED)}, invite)
    checked = await check(context, request, form, invite)
    if checked.complaints:
        problems = {found.attribute: _sentence(found.attribute, found.text) for found in checked.complaints}
        return await _page(context, request, form, problems, invite)
    await context.limits.count_new_account(request)  # as for sign-ups through apps
    try:
        await sign_up(context, request, form, checked)
    except Refused as refusal:  # another sign-up has taken the name, or the last use of the invite
        if refusal.status == 403:
            raise Forbidden(CLOSED) from None
        named = list(refusal.details or ())
        return await _page(context, request, form, {name: _sentence(name, rules.TAKEN) for name in named}, invite)
    return redirect("/auth/confirmation/sent")


async def _page(
    context: HttpContext, request: Request, form: SignUpData, problems: dict[str, str], invite: str | None
) -> Answer:
    return await form_page(
        context,
        request,
        "sign_up.html",
        status=422 if problems else 200,
        domain=context.settings.local_domain,
        approval=context.sign_ups.rule == "approval" and invite is None,
        invite=invite,
        reason_required=context.sign_ups.reason_required,
        form=form,
        problems=problems,
        bounds=BOUNDS,
    )


def _sentence(attribute: str, text: str) -> str:
    if attribute == "agreement":
        return "You can only sign up if you agree."
    return f"{WORDS.get(attribute, attribute.capitalize())} {text}."


def _language(request: Request) -> str:
    """Return the known language that the browser prefers."""
    wanted = (part.partition(";")[0] for part in (request.header(b"accept-language") or "")[:200].split(","))
    return next((code for name in wanted if (code := language_code(name)) is not None), "")

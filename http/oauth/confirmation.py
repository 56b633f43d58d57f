"""The link of a confirmation mail, and the page that requests another mail.

Opening the link confirms the address. Programs that scan mails may open it first. So a later visit shows that the
address is confirmed, with a link to the app.
"""

from __future__ import annotations

from contextlib import suppress

from ...actors.commands.registration import ConfirmEmail, ResendConfirmation
from ...actors.kernel import Address, Refused
from ...storage import oauth, registration, users
from ...storage.oauth import Application
from ...storage.secrets import hash_of
from ...storage.users import User
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Input, MaybeText, Text
from ..intake.request import Request
from ..router import api
from . import sessions
from .page_frames import form_page, framed_page
from .redirects import OUT_OF_BAND, complaint
from .users import user_to_mail

OUTDATED = "This page was open for too long. Please send it again."


class ConfirmationLink(Input):
    confirmation_token: Text = ""


class ResendForm(Input):
    form_token: MaybeText = None
    email: Text = ""


@api.get("/auth/confirmation", page=True)
async def confirm(context: HttpContext, request: Request, link: ConfirmationLink) -> Answer:
    """Confirm the address, and redirect to the app by which the user has signed up."""
    user, now = await _confirmed(context, request, hash_of(link.confirmation_token))
    if user is None:
        return await framed_page(context, request, "unconfirmed.html", status=404)
    application, target = await _origin(context, user)
    if now and target is not None:
        return redirect(target)
    return await framed_page(
        context,
        request,
        "confirmed.html",
        username=user.username,
        now=now,
        pending=user.approved_at is None,
        application=application.name if application is not None else None,
        target=target,
    )


@api.get("/auth/confirmation/new", page=True)
async def show_form(context: HttpContext, request: Request) -> Answer:
    """Show the form that requests another mail."""
    return await _form(context, request)


@api.post("/auth/confirmation/new", page=True, rates=(rates.CONFIRMATIONS,))
async def resend(context: HttpContext, request: Request, wanted: ResendForm) -> Answer:
    """Send another mail if a user with this address is not confirmed. The answer does not show if it was sent."""
    if not sessions.is_own_form(sessions.secret_of(request), wanted.form_token):
        return await _form(context, request, sessions.refusal_of(request, OUTDATED), wanted.email)
    user = await user_to_mail(context, wanted.email)
    if user is not None and user.confirmed_at is None:
        await _resend(context, request, user)
    return redirect("/auth/confirmation/sent")


@api.get("/auth/confirmation/sent", page=True)
async def show_sent(context: HttpContext, request: Request) -> Answer:
    """Show that a mail was sent."""
    return await framed_page(context, request, "sent.html", approval=context.sign_ups.rule == "approval")


async def _confirmed(context: HttpContext, request: Request, token_hash: bytes) -> tuple[User | None, bool]:
    """Return the user whose address the link confirms, and True if this request has confirmed it."""
    account_id = await context.database.read(registration.find_confirmation, token_hash, context.clock.now())
    if account_id is None:
        return None, False
    address = Address("account", str(account_id))
    now = await context.runtime.ask(address, ConfirmEmail(token_hash), origin=request.origin)
    return (None if now is None else await context.database.read(users.find_user, account_id)), bool(now)


async def _resend(context: HttpContext, request: Request, user: User) -> None:
    address = Address("account", str(user.account_id))
    with suppress(Refused):  # confirmed in the meantime
        await context.runtime.ask(address, ResendConfirmation(), origin=request.origin)


async def _origin(context: HttpContext, user: User) -> tuple[Application | None, str | None]:
    """Return the app by which the user has signed up, and its first redirect URI if a browser can open it."""
    if user.created_by_application_id is None:
        return None, None
    application = await context.database.read(oauth.find_application, user.created_by_application_id)
    if application is None:
        return None, None
    first = application.redirect_uris[0]
    return application, None if first == OUT_OF_BAND or complaint(first) else first


async def _form(context: HttpContext, request: Request, problem: str | None = None, email: str = "") -> Answer:
    return await form_page(context, request, "resend.html", problem=problem, email=email)

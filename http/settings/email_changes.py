"""The page that changes the e-mail address, and the page of the link in the mail.

The page does not show if another account has an address. The page of the link has a button: opening a link must change
nothing, because programs that scan mails open links too.
"""

from __future__ import annotations

from ...actors.commands.email_changes import ChangeEmail, ConfirmNewEmail
from ...actors.kernel import Address
from ...actors.rules.limits import EMAIL_CHARACTERS
from ...actors.rules.mailboxes import mailbox_of
from ...actors.rules.registration import blocked
from ...storage import email_changes
from ...storage.secrets import hash_of
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Input, MaybeText, Text
from ..intake.request import Request
from ..oauth import sessions
from ..oauth.page_frames import form_page, framed_page
from ..oauth.registration import verdict_on
from ..router import api
from .signed_in import OUTDATED, WRONG_PASSWORD, SettingsForm, SignedIn, sender_of, signed_in


class NewEmailForm(SettingsForm):
    email: Text = ""


class NewEmailLink(Input):
    token: Text = ""


class NewEmailConfirmation(NewEmailLink):
    form_token: MaybeText = None


@api.get("/settings/email", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the address and the form that changes it."""
    return _page(await signed_in(context, request))


@api.post("/settings/email", page=True, rates=(rates.CONFIRMATIONS,))
async def change(context: HttpContext, request: Request, posted: NewEmailForm) -> Answer:
    """Send a link to the new address."""
    me = await sender_of(context, request, posted)
    mailbox = mailbox_of(posted.email, context.settings.local_domain)
    if mailbox is None:
        return _page(me, {"email": "The address is invalid."}, posted.email)
    if not await me.has_password(posted.password):
        return _page(me, {"password": WRONG_PASSWORD}, posted.email)
    await context.limits.count_mail(mailbox)
    verdict = await verdict_on(context, mailbox, request.address(context.settings.trusted_proxies))
    if verdict.complaint is not None or verdict.needs_approval:
        text = (verdict.complaint or blocked()).text
        return _page(me, {"email": f"The address {text}."}, posted.email)
    await me.ask(ChangeEmail(mailbox))
    return redirect("/settings?done=email_asked")


@api.get("/auth/email", page=True)
async def show_link(context: HttpContext, request: Request, link: NewEmailLink) -> Answer:
    """Show the button that confirms the new address."""
    if await _owner(context, link) is None:
        return await framed_page(context, request, "email_link.html", status=404)
    return await _link_page(context, request, link)


@api.post("/auth/email", page=True, rates=(rates.CONFIRMATIONS,))
async def confirm(context: HttpContext, request: Request, posted: NewEmailConfirmation) -> Answer:
    """Set the new address."""
    account_id = await _owner(context, posted)
    if account_id is None:
        return await framed_page(context, request, "email_link.html", status=404)
    if not sessions.is_own_form(sessions.secret_of(request), posted.form_token):
        return await _link_page(context, request, posted, sessions.refusal_of(request, OUTDATED))
    address = Address("account", str(account_id))
    if not await context.runtime.ask(address, ConfirmNewEmail(hash_of(posted.token)), origin=request.origin):
        return await framed_page(context, request, "email_link.html", status=404)
    return await framed_page(context, request, "email_changed.html")


def _page(me: SignedIn, problems: dict[str, str] | None = None, email: str = "") -> Answer:
    status = 422 if problems else 200
    return me.page("email.html", status=status, problems=problems or {}, email=email, most=EMAIL_CHARACTERS)


async def _owner(context: HttpContext, link: NewEmailLink) -> int | None:
    return await context.database.read(email_changes.find, hash_of(link.token), context.clock.now())


async def _link_page(context: HttpContext, request: Request, link: NewEmailLink, problem: str | None = None) -> Answer:
    return await form_page(context, request, "email_confirm.html", problem=problem, link=link.token)

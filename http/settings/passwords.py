"""The pages that change a password, and that reset a forgotten password.

The answer to a request for a link is equal for all addresses, and is sent before the mail is queued. So neither the
answer nor its time shows if an address has an account.
"""

from __future__ import annotations

from ...actors.commands.passwords import ChangePassword, ResetPassword, SendPasswordReset
from ...actors.kernel import Address, Refused
from ...actors.rules import registration as rules
from ...storage import passwords, users
from ...storage.secrets import hash_of
from ..access import rates
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Flag, Input, MaybeText, Text
from ..intake.request import Request
from ..oauth import passwords as hashing
from ..oauth import sessions
from ..oauth.page_frames import form_page, framed_page
from ..oauth.users import user_to_mail
from ..router import api
from .signed_in import OUTDATED, WRONG_PASSWORD, SettingsForm, SignedIn, sender_of, signed_in

BOUNDS = {"least": rules.PASSWORD_CHARACTERS_MIN, "most": rules.PASSWORD_CHARACTERS}


class NewPasswordForm(SettingsForm):
    new_password: Text = ""
    apps: Flag = False


class ForgottenForm(Input):
    form_token: MaybeText = None
    email: Text = ""


class ResetLink(Input):
    reset_password_token: Text = ""


class ResetForm(ResetLink):
    form_token: MaybeText = None
    new_password: Text = ""


@api.get("/.well-known/change-password", page=True)
def lead_to_form() -> Answer:
    """Redirect password managers to the page that changes the password."""
    return redirect("/settings/password")


# Changing -------------------------------------------------------------------------------------------------------------


@api.get("/settings/password", page=True)
async def show(context: HttpContext, request: Request) -> Answer:
    """Show the form that changes the password."""
    return _change_page(await signed_in(context, request), {})


@api.post("/settings/password", page=True)
async def change(context: HttpContext, request: Request, posted: NewPasswordForm) -> Answer:
    """Change the password of the signed-in user. The session gets a new secret."""
    me = await sender_of(context, request, posted)
    if problem := _complaint(posted.new_password):
        return _change_page(me, {"new_password": problem})
    if not await me.has_password(posted.password):
        return _change_page(me, {"password": WRONG_PASSWORD})
    # Read again, because `has_password` may have renewed the hash.
    user = await context.database.read(users.find_user, me.user.account_id) or me.user
    new = await hashing.hashed(posted.new_password, context.passwords)
    try:
        await me.ask(ChangePassword(user.password_hash or "", new, hash_of(me.secret), posted.apps))
    except Refused:  # another browser has changed the password meanwhile
        return _change_page(me, {"password": WRONG_PASSWORD})
    changed = await context.database.read(users.find_user, me.user.account_id)
    fresh = None if changed is None else await sessions.sign_in(context, request, changed, me.secret)
    return redirect("/settings?done=password", sessions.cookie(context, fresh or context.secret()))


def _change_page(me: SignedIn, problems: dict[str, str]) -> Answer:
    return me.page("password.html", status=422 if problems else 200, bounds=BOUNDS, problems=problems)


def _complaint(password: str) -> str | None:
    """Return the error of a new password as a sentence; None if it is valid."""
    found = next(rules.complaints_about_password(password), None)
    return None if found is None else f"The password {found.text}."


# Forgotten passwords --------------------------------------------------------------------------------------------------


@api.get("/auth/password/new", page=True)
async def show_request(context: HttpContext, request: Request) -> Answer:
    """Show the form that requests a link."""
    return await _request_page(context, request)


@api.post("/auth/password/new", page=True, rates=(rates.PASSWORD_RESETS,))
async def send_link(context: HttpContext, request: Request, wanted: ForgottenForm) -> Answer:
    """Send a link to the user with this address, if the address is known."""
    if not sessions.is_own_form(sessions.secret_of(request), wanted.form_token):
        return await _request_page(context, request, sessions.refusal_of(request, OUTDATED), wanted.email)
    user = await user_to_mail(context, wanted.email)
    if user is not None:
        address = Address("account", str(user.account_id))
        context.runtime.tell(address, SendPasswordReset(), origin=request.origin)
    return redirect("/auth/password/sent")


@api.get("/auth/password/sent", page=True)
async def show_sent(context: HttpContext, request: Request) -> Answer:
    """Show that a mail was sent if the address belongs to an account."""
    return await framed_page(context, request, "password_sent.html")


async def _request_page(context: HttpContext, request: Request, problem: str | None = None, email: str = "") -> Answer:
    return await form_page(context, request, "password_forgotten.html", problem=problem, email=email)


# The link -------------------------------------------------------------------------------------------------------------


@api.get("/auth/password/edit", page=True)
async def show_reset(context: HttpContext, request: Request, link: ResetLink) -> Answer:
    """Show the form that sets a new password. Opening it does not use the link up."""
    account_id = await _owner(context, link)
    if account_id is None:
        return await framed_page(context, request, "password_link.html", status=404)
    return await _reset_page(context, request, account_id, link)


@api.post("/auth/password/edit", page=True, rates=(rates.PASSWORD_RESETS,))
async def reset(context: HttpContext, request: Request, posted: ResetForm) -> Answer:
    """Set the new password. The user then signs in with it, and with a code if two-factor authentication is on."""
    account_id = await _owner(context, posted)
    if account_id is None:
        return await framed_page(context, request, "password_link.html", status=404)
    if not sessions.is_own_form(sessions.secret_of(request), posted.form_token):
        return await _reset_page(context, request, account_id, posted, sessions.refusal_of(request, OUTDATED))
    if problem := _complaint(posted.new_password):
        return await _reset_page(context, request, account_id, posted, problem)
    new = await hashing.hashed(posted.new_password, context.passwords)
    command = ResetPassword(hash_of(posted.reset_password_token), new)
    address = Address("account", str(account_id))
    if not await context.runtime.ask(address, command, origin=request.origin):
        return await framed_page(context, request, "password_link.html", status=404)
    return await framed_page(context, request, "password_set.html")


async def _owner(context: HttpContext, link: ResetLink) -> int | None:
    return await context.database.read(
        passwords.find_reset, hash_of(link.reset_password_token), context.clock.now()
    )  # fmt: skip


async def _reset_page(
    context: HttpContext, request: Request, account_id: int, link: ResetLink, problem: str | None = None
) -> Answer:
    user = await context.database.read(users.find_user, account_id)
    return await form_page(
        context,
        request,
        "password_reset.html",
        status=422 if problem else 200,
        bounds=BOUNDS,
        problem=problem,
        link=link.reset_password_token,
        username="" if user is None else user.username,
    )

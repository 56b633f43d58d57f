"""The sign-in: the password and, for accounts with two-factor authentication, a code.

The authorization page and the sign-in page share both steps. Between the steps the browser has a challenge, which is a
session that only allows the second step.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from ...storage import two_factor, users
from ...storage.secrets import hash_of
from ...storage.users import User
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import Forbidden
from ..intake.parameters import Flag, Input, MaybeText, Text
from ..intake.request import Request
from ..router import api
from . import sessions
from .page_frames import OWN_PAGE, form_page
from .redirects import with_query
from .second_factor import WRONG_CODE, is_code
from .users import barred, user_with

WRONG = "That name and password do not belong together."
OUTDATED = "This page was open for too long. Please sign in again."
HOME = "/settings"
CHALLENGE_LASTS = timedelta(minutes=10)


class SignInForm(Input):
    """The fields of both sign-in pages: a name and a password; then a code, or `restart`."""

    form_token: MaybeText = None
    username: MaybeText = None
    password: MaybeText = None
    code: MaybeText = None
    restart: Flag = False


def _own_page(to: str) -> str:
    """Return the path for the redirect after the sign-in. Raises ValueError if it is not an `OWN_PAGE`."""
    if OWN_PAGE.fullmatch(to) is None:
        raise ValueError("is not a page of this server")
    return to


class PageSignIn(SignInForm):
    to: Annotated[Text, AfterValidator(_own_page)] = HOME


@dataclass(frozen=True, slots=True)
class SignInStep:
    """The outcome of a step.

    `secret` is the browser's next secret: of a session if `done`, else of a challenge. Without a secret the page is
    shown again, with the problem.
    """

    secret: str | None = None
    done: bool = False
    problem: str | None = None


async def take(context: HttpContext, request: Request, form: SignInForm, secret: str) -> SignInStep:
    """Handle the form of a sign-in page, with a valid form token. Raises Forbidden for users who may not sign in."""
    if form.restart:
        await context.database.transact(two_factor.delete_challenge, hash_of(secret))
        return SignInStep(await sessions.sign_out(context, secret))
    if form.code is not None:
        return await _take_code(context, request, form.code, secret)
    return await _take_password(context, request, form, secret)


async def _take_password(context: HttpContext, request: Request, form: SignInForm, secret: str) -> SignInStep:
    user = await user_with(context, request, (form.username or "").strip(), form.password or "")
    if user is None:
        return SignInStep(problem=WRONG)
    _check(user)
    if await context.database.read(two_factor.is_enabled, user.account_id):
        return await _challenge(context, user, secret)
    return await _finish(context, request, user, secret)


async def _challenge(context: HttpContext, user: User, secret: str) -> SignInStep:
    """Replace the browser's session by a challenge, because the password may belong to another user."""
    fresh, now = await sessions.sign_out(context, secret), context.clock.now()
    made = await context.database.transact(
        two_factor.insert_challenge,
        hash_of(fresh),
        user.account_id,
        user.password_hash or "",
        now,
        now + CHALLENGE_LASTS,
    )
    return SignInStep(fresh) if made else SignInStep(problem=WRONG)


async def _take_code(context: HttpContext, request: Request, code: str, secret: str) -> SignInStep:
    account_id = await context.database.transact(two_factor.count_try, hash_of(secret), context.clock.now())
    if account_id is None:
        return SignInStep(problem=OUTDATED)
    if not await is_code(context, account_id, code):
        return SignInStep(problem=WRONG_CODE)
    user = await context.database.read(users.find_user, account_id)
    # After the user was read: a concurrent change of the password either ends the challenge, or `_finish` finds it.
    ended = await context.database.transact(two_factor.delete_challenge, hash_of(secret))
    if user is None or not ended:
        return SignInStep(problem=OUTDATED)
    _check(user)
    return await _finish(context, request, user, secret)


async def _finish(context: HttpContext, request: Request, user: User, secret: str) -> SignInStep:
    fresh = await sessions.sign_in(context, request, user, secret)
    return SignInStep(problem=WRONG) if fresh is None else SignInStep(fresh, done=True)


def _check(user: User) -> None:
    if (reason := barred(user)) is not None:
        raise Forbidden(reason)


async def waits_for_code(context: HttpContext, secret: str | None) -> bool:
    """True if the browser has a challenge: it has sent the right password, and must send a code."""
    if secret is None:
        return False
    return await context.database.read(two_factor.find_challenge, hash_of(secret), context.clock.now()) is not None


@api.get("/auth/sign_in", page=True)
async def show(context: HttpContext, request: Request, asked: PageSignIn) -> Answer:
    """Show the sign-in page, which redirects to the page `to`."""
    return await _page(context, request, asked)


@api.post("/auth/sign_in", page=True)
async def act(context: HttpContext, request: Request, posted: PageSignIn) -> Answer:
    """Sign in, and redirect to the page `to`."""
    secret = sessions.secret_of(request)
    if secret is None or not sessions.is_own_form(secret, posted.form_token):
        return await _page(context, request, posted, sessions.refusal_of(request, OUTDATED))
    step = await take(context, request, posted, secret)
    if step.secret is None:
        return await _page(context, request, posted, step.problem)
    target = posted.to if step.done else with_query("/auth/sign_in", to=posted.to)
    return redirect(target, sessions.cookie(context, step.secret))


async def _page(context: HttpContext, request: Request, asked: PageSignIn, problem: str | None = None) -> Answer:
    waits = await waits_for_code(context, sessions.secret_of(request))
    return await form_page(
        context,
        request,
        "sign_in_code.html" if waits else "sign_in.html",
        action="/auth/sign_in",
        application=None,
        sign_ups=context.sign_ups.rule != "closed",
        problem=problem,
        login=(asked.username or "").strip(),
        hidden=[("to", asked.to)],
    )

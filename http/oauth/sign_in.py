"""Signing in: the password and, for accounts with two-factor authentication, a code after it.

The authorization page and the sign-in page of the settings take the same two steps. Between them the browser has a
session of its own kind, a challenge, which opens nothing but the second step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import Forbidden
from ..intake.input import Input
from ..intake.parameters import MaybeText
from ..intake.request import Request
from ..pages.templates import page
from ..router import api
from . import sessions
from .users import barred, user_with

WRONG = "That name and password do not belong together."
OUTDATED = "This page was open for too long. Please sign in again."
HOME = "/settings"


class SignInForm(Input):
    """What both sign-in pages send: a name and a password."""

    form_token: MaybeText = None
    username: MaybeText = None
    password: MaybeText = None


class SettingsSignIn(SignInForm):
    # A page of the settings, and never another address.
    to: Annotated[str, Field(pattern=r"^/settings(/[a-z_]+)?$")] = HOME


@dataclass(frozen=True, slots=True)
class Step:
    """The outcome of a step: the browser's next secret, or the reason why the form is shown again."""

    secret: str | None
    problem: str | None = None


async def take(context: HttpContext, request: Request, form: SignInForm, secret: str) -> Step:
    """Take the form of a sign-in page, whose form token was checked. Raises Forbidden for users who may not sign in."""
    user = await user_with(context, request, (form.username or "").strip(), form.password or "")
    if user is None:
        return Step(None, WRONG)
    if (reason := barred(user)) is not None:
        raise Forbidden(reason)
    fresh = await sessions.sign_in(context, request, user, secret)
    return Step(fresh, WRONG if fresh is None else None)


@api.get("/auth/sign_in", page=True)
def show(context: HttpContext, request: Request, asked: SettingsSignIn) -> Answer:
    """Show the sign-in page of the settings."""
    return _page(context, request, asked)


@api.post("/auth/sign_in", page=True)
async def act(context: HttpContext, request: Request, posted: SettingsSignIn) -> Answer:
    """Sign in to the settings."""
    secret = sessions.secret_of(request)
    if secret is None or not sessions.is_own_form(secret, posted.form_token):
        return _page(context, request, posted, OUTDATED)
    step = await take(context, request, posted, secret)
    if step.secret is None:
        return _page(context, request, posted, step.problem)
    return redirect(posted.to, sessions.cookie(context, step.secret))


def _page(context: HttpContext, request: Request, asked: SettingsSignIn, problem: str | None = None) -> Answer:
    secret = sessions.secret_of(request)
    fresh = secret or context.secret()
    made = page(
        "sign_in.html",
        action="/auth/sign_in",
        server=context.settings.title,
        application=None,
        sign_ups=context.settings.sign_ups != "closed",
        problem=problem,
        login=(asked.username or "").strip(),
        hidden=[("form_token", sessions.form_token(fresh)), ("to", asked.to)],
    )
    return made if secret else sessions.with_cookie(context, made, fresh)

"""The authorization page: the sign-in, the consent to the requested scopes, and the redirect to the app with a code.

All steps share a path. Every form posts to /oauth/authorize and includes the app's request. So it works without
JavaScript, in two tabs, and after the back button.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from ...actors.rules import scopes
from ...storage import oauth
from ...storage.oauth import Application, Grant
from ...storage.secrets import hash_of
from ...storage.users import User
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..answers.errors import Forbidden, Malformed, NotFound
from ..intake.parameters import Flag, Given, Input, MaybeText, Text, Texts
from ..intake.request import Request
from ..pages.templates import page
from ..router import api
from . import redirects, sessions
from .page_frames import bare_frame
from .sign_in import OUTDATED, SignInForm, take, waits_for_code

CODE_LASTS = timedelta(minutes=10)
CHALLENGE = re.compile("[A-Za-z0-9_-]{43}")  # base64url of a SHA-256
LONGEST_STATE = 4096
SIGNED_OUT = "You are no longer signed in."
DENIED = "The resource owner or authorization server denied the request."


class Asked(Input):
    """The app's request, in the query and in every form."""

    client_id: Given
    redirect_uri: Given
    response_type: Text = ""
    scope: Texts = ("read",)  # a text, or a list as some libraries send it
    state: MaybeText = None
    code_challenge: MaybeText = None
    code_challenge_method: MaybeText = None
    force_login: Flag = False
    # Set by this server after a forced sign-in. The next page then asks for consent, not for the password again.
    ask_consent: Flag = False

    def carried(self) -> Iterator[tuple[str, str]]:
        """Yield the parameters that forms repeat."""
        for name in ("client_id", "redirect_uri", "response_type", "state"):
            if (value := getattr(self, name)) is not None:
                yield name, value
        yield "scope", " ".join(self.scope)
        if self.code_challenge:
            yield from (("code_challenge", self.code_challenge), ("code_challenge_method", "S256"))
        if self.ask_consent:
            yield "ask_consent", "true"


class AuthorizeForm(SignInForm, Asked):
    """A form with a sign-in, or with a `decision`: allow, deny or leave."""

    decision: MaybeText = None


@dataclass(frozen=True, slots=True)
class Authorization:
    """A valid request and its app."""

    application: Application
    asked: Asked
    scopes: tuple[str, ...]


@api.get("/oauth/authorize", page=True)
async def show(context: HttpContext, request: Request, asked: Asked) -> Answer:
    """Show the sign-in page or the consent page, or redirect to an app that is already authorized."""
    authorization = await _checked(context, asked)
    secret = sessions.secret_of(request)
    user = await sessions.user_of(context, secret)
    if asked.force_login:
        return _sign_in_page(context, request, authorization, secret)
    if secret is None or user is None:
        return await _next_page(context, request, authorization, secret)
    if not asked.ask_consent and await _is_allowed(context, authorization, user):
        return await _allow(context, request, authorization, user, secret)
    return _consent_page(context, request, authorization, user, secret)


@api.post("/oauth/authorize", page=True)
async def act(context: HttpContext, request: Request, posted: AuthorizeForm) -> Answer:
    """Handle a form with a password, a code or a decision."""
    return await _take(context, request, posted)


@api.delete("/oauth/authorize", page=True)
async def deny(context: HttpContext, request: Request, posted: AuthorizeForm) -> Answer:
    """Deny the app's request, like a form with the decision `deny`."""
    return await _take(context, request, posted.model_copy(update={"decision": "deny"}))


async def _take(context: HttpContext, request: Request, posted: AuthorizeForm) -> Answer:
    authorization = await _checked(context, posted)
    secret = sessions.secret_of(request)
    if secret is None or not sessions.is_own_form(secret, posted.form_token):
        return _sign_in_page(context, request, authorization, secret, sessions.refusal_of(request, OUTDATED))
    if posted.decision is None:
        return await _sign_in(context, request, authorization, posted, secret)
    if posted.decision == "leave":
        return await _leave(context, posted, secret)
    user = await sessions.user_of(context, secret)
    if user is None:
        return _sign_in_page(context, request, authorization, secret, SIGNED_OUT)
    if posted.decision == "allow":
        return await _allow(context, request, authorization, user, secret)
    return _deny(posted)


@api.get("/oauth/authorize/native", page=True)
def show_code(context: HttpContext, request: Request) -> Answer:
    """Show the code for an app without a redirect URI. The URL of the page has it too."""
    code = dict(request.query_texts).get("code")
    if not code:
        raise NotFound("There is no code in this address")
    return page("code.html", bare_frame(context, request), code=code)


# The request --------------------------------------------------------------------------------------------------


async def _checked(context: HttpContext, asked: Asked) -> Authorization:
    """Return the requested authorization. Its errors are shown on a page, and never sent to the app."""
    application = await context.database.read(oauth.find_client, asked.client_id)
    if application is None:
        raise Malformed("This app is not known here. It may have to be registered again.")
    if not redirects.is_registered(asked.redirect_uri, application.redirect_uris):
        raise Malformed("The address to return to is not one that the app was registered with.")
    if redirects.complaint(asked.redirect_uri) is not None:
        # The app was registered when the rules were less strict.
        raise Malformed("The address to return to leads to no app. The app must register another one.")
    if asked.response_type != "code":
        raise Malformed("The authorization server does not support this response type.")
    if asked.state is not None and len(asked.state) > LONGEST_STATE:
        raise Malformed("The app's state is too long.")
    _check_challenge(asked)
    wanted = scopes.parse(" ".join(asked.scope)) or scopes.DEFAULT
    if not scopes.known(wanted) or not scopes.covers_all(application.scopes, wanted):
        raise Malformed("The requested scope is invalid, unknown, or malformed.")
    return Authorization(application, asked, wanted)


def _check_challenge(asked: Asked) -> None:
    if not asked.code_challenge:
        return
    if asked.code_challenge_method != "S256" or not CHALLENGE.fullmatch(asked.code_challenge):
        raise Malformed("The code challenge must be made by method S256.")


async def _is_allowed(context: HttpContext, authorization: Authorization, user: User) -> bool:
    return await context.database.read(
        oauth.holds_token, user.account_id, authorization.application.id, authorization.scopes
    )


# Signing in ---------------------------------------------------------------------------------------------------


async def _sign_in(
    context: HttpContext, request: Request, authorization: Authorization, posted: AuthorizeForm, secret: str
) -> Answer:
    step = await take(context, request, posted, secret)
    if step.secret is None:
        return await _next_page(context, request, authorization, secret, step.problem, (posted.username or "").strip())
    return redirect(_here(posted), sessions.cookie(context, step.secret))


async def _leave(context: HttpContext, posted: AuthorizeForm, secret: str) -> Answer:
    """End the browser's session and show the sign-in page for the same request of the app."""
    fresh = await sessions.sign_out(context, secret)
    return redirect(_here(posted), sessions.cookie(context, fresh))


def _here(posted: AuthorizeForm) -> str:
    """Return the URL of this page after a sign-in. After a forced sign-in it requires consent again."""
    again = dict(posted.carried())
    if posted.force_login:
        again["ask_consent"] = "true"
    return redirects.with_query("/oauth/authorize", **again)


async def _next_page(
    context: HttpContext,
    request: Request,
    authorization: Authorization,
    secret: str | None,
    problem: str | None = None,
    login: str = "",
) -> Answer:
    """Return the page of the next step: the password, or a code after it."""
    template = "sign_in_code.html" if await waits_for_code(context, secret) else "sign_in.html"
    return _sign_in_page(context, request, authorization, secret, problem, login, template)


# Answers ------------------------------------------------------------------------------------------------------


def _sign_in_page(
    context: HttpContext,
    request: Request,
    authorization: Authorization,
    secret: str | None,
    problem: str | None = None,
    login: str = "",
    template: str = "sign_in.html",
) -> Answer:
    asked = authorization.asked
    fresh = secret or context.secret()
    hidden = list(asked.carried())
    if asked.force_login:
        hidden.append(("force_login", "true"))
    made = page(
        template,
        bare_frame(context, request),
        action="/oauth/authorize",
        form_targets=redirects.form_target(asked.redirect_uri),
        application=authorization.application.name,
        sign_ups=context.sign_ups.rule != "closed",
        problem=problem,
        login=login,
        hidden=hidden,
        form_token=sessions.form_token(fresh),
    )
    return made if secret else sessions.with_cookie(context, made, fresh)


def _consent_page(
    context: HttpContext, request: Request, authorization: Authorization, user: User, secret: str
) -> Answer:
    application = authorization.application
    return page(
        "consent.html",
        bare_frame(context, request),
        form_targets=redirects.form_target(authorization.asked.redirect_uri),
        application=application.name,
        website=application.website,
        username=user.username,
        scopes=[_row(name) for name in authorization.scopes],
        far_reaching=not scopes.FAR_REACHING.isdisjoint(authorization.scopes),
        hidden=list(authorization.asked.carried()),
        form_token=sessions.form_token(secret),
    )


def _row(scope: str) -> dict[str, object]:
    """Return a scope for the consent page."""
    return {
        "name": scope,
        "words": scopes.in_words(scope),
        "broad": scope in scopes.BROAD,
        "far_reaching": scope in scopes.FAR_REACHING,
    }


async def _allow(
    context: HttpContext, request: Request, authorization: Authorization, user: User, secret: str
) -> Answer:
    asked, code, now = authorization.asked, context.secret(), context.clock.now()
    grant = Grant(
        hash_of(code),
        authorization.application.id,
        user.account_id,
        asked.redirect_uri,
        authorization.scopes,
        asked.code_challenge or None,
        now,
        now + CODE_LASTS,
    )
    if not await context.database.transact(oauth.insert_grant, grant, hash_of(secret)):
        return _sign_in_page(context, request, authorization, secret, SIGNED_OUT)
    if asked.redirect_uri == redirects.OUT_OF_BAND:
        return redirect(redirects.with_query("/oauth/authorize/native", code=code, state=asked.state))
    return redirect(redirects.with_query(asked.redirect_uri, code=code, state=asked.state))


def _deny(asked: Asked) -> Answer:
    if asked.redirect_uri == redirects.OUT_OF_BAND:
        raise Forbidden("You did not allow the app to use your account. You can close this page.")
    return redirect(
        redirects.with_query(asked.redirect_uri, error="access_denied", error_description=DENIED, state=asked.state)
    )

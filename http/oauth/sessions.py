"""Browser sessions: a secret cookie, stored as a hash after a sign-in, and its form tokens."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta

from ...storage import sessions, users
from ...storage.secrets import equal_secrets, hash_of
from ...storage.users import User
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers
from ..intake.request import Request
from .users import barred

COOKIE = "troupe_session"
LASTS = timedelta(days=14)
LONGEST_AGENT = 256
NO_COOKIE = "If you see this again, your browser keeps no cookies: please allow those of this site."


def secret_of(request: Request) -> str | None:
    """Return the browser's session secret, with or without a sign-in; None without a cookie."""
    # The function of `werkzeug.http` raises for bytes that are no UTF-8. Late: 13 ms, 2.2 MiB, which only pages need.
    from werkzeug.sansio.http import parse_cookie

    return parse_cookie(request.header(b"cookie") or "").get(COOKIE) or None


def cookie(context: HttpContext, secret: str) -> Headers:
    """Return the header that sets a browser's session cookie."""
    secure = "; Secure" if context.settings.secure else ""
    age = int(LASTS.total_seconds())
    return (("Set-Cookie", f"{COOKIE}={secret}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"),)


def with_cookie(context: HttpContext, answer: Answer, secret: str) -> Answer:
    """Return the answer with the session cookie."""
    return replace(answer, headers=(*answer.headers, *cookie(context, secret)))


async def user_of(context: HttpContext, secret: str | None) -> User | None:
    """Return the user of a session; None if there is none, or the user may not sign in any more."""
    if secret is None:
        return None
    account_id = await context.database.read(sessions.find, hash_of(secret), context.clock.now())
    user = None if account_id is None else await context.database.read(users.find_user, account_id)
    return None if user is None or barred(user) else user


async def sign_in(context: HttpContext, request: Request, user: User, old: str | None) -> str | None:
    """Make a session for a user and return its secret. It replaces the old secret, which an attacker may have set.

    Return None if the user's password was changed after its check.
    """
    secret, now = context.secret(), context.clock.now()
    if old is not None:
        await context.database.transact(sessions.delete, hash_of(old))
    made = await context.database.transact(
        sessions.insert, hash_of(secret), user.account_id, _agent(request), user.password_hash or "", now, now + LASTS
    )
    if made:
        context.note_visit(request, user.account_id)
    return secret if made else None


async def sign_out(context: HttpContext, secret: str) -> str:
    """End the session. Return the secret of a new session without a sign-in."""
    await context.database.transact(sessions.delete, hash_of(secret))
    return context.secret()


def form_token(secret: str) -> str:
    """Return the token of this session's forms, so that no other site can send them."""
    return hashlib.sha256(b"form:" + secret.encode()).hexdigest()


def is_own_form(secret: str | None, token: str | None) -> bool:
    """True if a form has the token of this session."""
    return secret is not None and token is not None and equal_secrets(form_token(secret), token)


def refusal_of(request: Request, outdated: str) -> str:
    """Return the error for a form of another session: `outdated`, and a hint if the browser has no cookie."""
    return outdated if secret_of(request) is not None else f"{outdated} {NO_COOKIE}"


def _agent(request: Request) -> str | None:
    """Return the User-Agent, without characters that can't be stored or shown."""
    name = (request.header(b"user-agent") or "")[:LONGEST_AGENT]
    return "".join(character for character in name if character.isprintable()) or None

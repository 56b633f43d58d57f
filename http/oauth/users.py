"""Sign-in by a name or an e-mail address and its password, with limits against guessing.

Only wrong passwords count: for the client's network address, and for the account, in every spelling of its
login. A network address with too many failures is refused. For an account with too many failures the right password
still works from a network address without a failure in the last hour, so guessing does not lock the owner out.
"""

from __future__ import annotations

from dataclasses import replace

from ...actors.rules.identity import handle_of, without_signs_around
from ...actors.rules.limits import EMAIL_CHARACTERS
from ...actors.rules.mailboxes import is_mailbox, spelled
from ...storage import users
from ...storage.users import User
from ..access import rates
from ..access.context import HttpContext
from ..access.rates import CountedAttempt
from ..answers.errors import TooMany
from ..intake.request import Request
from ..server.addresses import subject_of
from . import passwords


async def user_with(context: HttpContext, request: Request, login: str, password: str) -> User | None:
    """Return the user with this login and password, who may be barred; None for a wrong login or password."""
    possible = 0 < len(login) <= EMAIL_CHARACTERS
    user = await user_by_login(context, login) if possible else None
    attempts = await _attempt(context, request, _subject(user, login if possible else ""))
    stored = None if user is None else user.password_hash
    if not await passwords.matches(stored, password, context.passwords) or user is None:
        return None
    await context.limits.take_back(attempts)  # earlier failures stay counted
    if barred(user) is not None:
        return user
    return replace(user, password_hash=await passwords.renew(context, user.account_id, stored, password))


async def user_by_login(context: HttpContext, login: str) -> User | None:
    """Return the user with a name, an e-mail address or a handle.

    The domain of an address may be in another spelling; addresses from operators may be stored in it. A handle of this
    server is tried last, because another user may have an e-mail address with equal text.
    """
    bare = without_signs_around(login)
    handle = handle_of(bare, context.settings.local_domain)
    own = handle[0] if handle is not None and handle[1] is None else spelled(bare)
    for written in dict.fromkeys((spelled(login), login.strip(), own)):
        if (user := await context.database.read(users.find_user_by_login, written)) is not None:
            return user
    return None


async def user_to_mail(context: HttpContext, written: str) -> User | None:
    """Return the user with an address from a form that requests a mail; None if there is none. Raises TooMany."""
    email = spelled(written)
    if not is_mailbox(email):
        return None
    await context.limits.count_mail(email)
    return await user_by_login(context, email)


def barred(user: User) -> str | None:
    """Return the reason why a user may not sign in, in the API's words; None if they may."""
    if user.confirmed_at is None:
        return "Your login is missing a confirmed e-mail address"
    if user.approved_at is None:
        return "Your login is currently pending approval"
    if user.barred:
        return "Your login is currently disabled"
    return None


def _subject(user: User | None, login: str) -> str:
    """Return the subject that failures count for: the account, or the normalized login if it is unknown."""
    if user is not None:
        return f"account {user.account_id}"
    return f"login {login.strip().lstrip('@').strip().casefold()}"


async def _attempt(context: HttpContext, request: Request, subject: str) -> list[CountedAttempt]:
    """Count an attempt, by each rule. Raises TooMany.

    It counts as a failure until it succeeds, so that concurrent attempts are all counted.
    """
    limits = context.limits
    if not context.settings.rate_limits:
        return []
    address = subject_of(request.address(context.settings.trusted_proxies))
    by_address = await limits.attempt(rates.FAILED_SIGN_INS, address)
    lately = await limits.attempt(rates.FAILED_SIGN_INS_LATELY, address)
    if by_address.status.exceeded:
        raise TooMany(by_address.status.headers)
    at_account = await limits.attempt(rates.FAILED_SIGN_INS_OF_ACCOUNT, subject)
    if at_account.status.exceeded and lately.status.exceeded:
        raise TooMany(at_account.status.headers)
    return [by_address, lately, at_account]

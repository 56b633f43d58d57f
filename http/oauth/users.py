"""Who signs in: a name or an address with its password, counted against guessing."""

from __future__ import annotations

from ...actors.rules.limits import EMAIL_CHARACTERS
from ...storage import users
from ...storage.users import User
from .. import rates
from ..errors import TooMany
from ..house import House
from ..request import Request
from . import passwords


async def user_with(house: House, request: Request, login: str, password: str) -> User | None:
    """The user to whom both belong, who may still be barred; None when they don't belong together."""
    possible = 0 < len(login) <= EMAIL_CHARACTERS
    _count_attempt(house, request, login if possible else "")
    user = await house.database.read(users.find_user_by_login, login) if possible else None
    stored = None if user is None else user.password_hash
    if not await passwords.matches(stored, password, house.passwords) or user is None:
        return None
    if barred(user) is None:
        await passwords.renew(house, user.account_id, stored, password)
    return user


def barred(user: User) -> str | None:
    """Why a user may not sign in, in the API's words."""
    if user.confirmed_at is None:
        return "Your login is missing a confirmed e-mail address"
    if user.approved_at is None:
        return "Your login is currently pending approval"
    if user.disabled_at or user.suspended_at or user.deleted_at:
        return "Your login is currently disabled"
    return None


def _count_attempt(house: House, request: Request, login: str) -> None:
    if not house.settings.rate_limits:
        return
    address = rates.subject_of(request.address(house.settings.trusted_proxies))
    charges = ((rates.SIGN_INS, address), (rates.SIGN_INS_OF_USER, login.casefold()))
    standing = house.rates.count_all(charges, house.clock.now())
    if standing is not None and standing.exceeded:
        raise TooMany(standing.headers)

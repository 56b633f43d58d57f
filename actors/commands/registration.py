"""Signing up, in the first turn of the account that comes of it; confirming its address, and asking for another mail.

An account that nobody has yet is an actor like any other: its id is drawn by whoever asks. Two who want one name at the
same time are two actors; the indexes decide between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import outbox, registration, users
from ...storage.engine import Connection
from ...storage.oauth import NewToken
from ...storage.registration import Taken
from ...storage.users import NewUser, User
from ..account import Account
from ..kernel import Origin, Refused, turn
from ..mail.post import CONFIRMATION
from ..outbox import letter_key
from ..rules.complaints import refusal
from ..rules.identity import local_account
from ..rules.registration import taken

NOT_AWAITED = Refused(403, "This method is only available while the e-mail is awaiting confirmation")


@dataclass(frozen=True, slots=True)
class SignUp:
    """Command: be this account, with this user, whose address is to be confirmed. The form was found right."""

    username: str
    email: str
    password_hash: str
    locale: str | None
    reason: str | None
    approved: bool
    application_id: int | None = None
    token: NewToken | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class ConfirmEmail:
    """Command: the user has opened a link that was sent to the address."""

    token_hash: bytes


@dataclass(frozen=True, slots=True)
class ResendConfirmation:
    """Command: send another mail, to another address if one is given."""

    email: str | None = None


@turn(Account, SignUp)
async def sign_up(self: Account, message: SignUp) -> User | Refused:
    """The user as stored; a mail is promised."""
    try:
        self.user = await self.transact(_sign_up, self, message, self.now, self.origin)
    except Taken as error:
        return refusal([taken(error.attribute)])
    self.backstage.accounts.drop(self.id)
    self.backstage.outbox.wake_mail()
    return self.user


async def _sign_up(db: Connection, self: Account, message: SignUp, now: datetime, origin: Origin) -> User:
    account = local_account(self.id, message.username, self.backstage.base_url)
    user = NewUser(
        self.id,
        message.email,
        message.password_hash,
        locale=message.locale,
        approved_at=now if message.approved else None,
        created_by_application_id=message.application_id,
        invite_request=message.reason,
        sign_up_ip=message.address,
    )
    await registration.create(db, account, user, message.token, now)
    await _promise_mail(db, self, origin)
    return await _user(db, self.id)


@turn(Account, ConfirmEmail)
async def confirm_email(self: Account, message: ConfirmEmail) -> bool | None:
    """Whether the address was confirmed now; False when it was already, None when the link is not good for it."""
    try:
        confirmed = await self.transact(_confirm, self, message.token_hash, self.now)
    finally:
        # Even if nobody knows whether it was committed: for others the account may be there now.
        self.backstage.accounts.drop(self.id)
    if confirmed is not None:
        self.user = confirmed.user
    return None if confirmed is None else confirmed.now


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the transaction came to."""

    user: User
    now: bool


async def _confirm(db: Connection, self: Account, token_hash: bytes, now: datetime) -> Confirmed | None:
    if await registration.find_confirmation(db, token_hash, now) != self.id:
        return None
    confirmed = await registration.confirm(db, self.id, now)
    user = await users.find_user(db, self.id)
    return None if user is None else Confirmed(user, confirmed)  # None: it was just deleted, as one never confirmed


@turn(Account, ResendConfirmation)
async def resend_confirmation(self: Account, message: ResendConfirmation) -> Refused | None:
    try:
        user = await self.transact(_resend, self, message.email, self.origin)
    except Taken as error:
        return refusal([taken(error.attribute)])
    if user is None:
        return NOT_AWAITED
    self.user = user
    self.backstage.outbox.wake_mail()
    return None


async def _resend(db: Connection, self: Account, email: str | None, origin: Origin) -> User | None:
    """The new mail takes the place of one that could not be sent yet: its turn is now."""
    if not await registration.is_unconfirmed(db, self.id):
        return None
    if email is not None:
        await registration.change_email(db, self.id, email)
    await outbox.forget(db, letter_key(CONFIRMATION, self.id))
    await _promise_mail(db, self, origin)
    return await _user(db, self.id)


async def _promise_mail(db: Connection, self: Account, origin: Origin) -> None:
    promises = self.backstage.outbox
    await promises.promise(db, [promises.letter(CONFIRMATION, self.id, origin)])


async def _user(db: Connection, id: int) -> User:
    user = await users.find_user(db, id)
    if user is None:
        raise LookupError(f"user {id} was stored and is not there")
    return user

"""Signing up, in the first turn of the new account; confirming its address, and requesting another mail.

One transaction stores the account, the user, the app's token and the promise of a mail. The caller draws the new
account's id, and the actor exists before its rows. Two sign-ups with one name are turns of two actors: a unique index
decides which of them succeeds. Without the setting `smtp_host` sign-ups are closed, for every value of `registrations`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import invites, registration, users
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification
from ...storage.oauth import NewToken
from ...storage.registration import Taken
from ...storage.users import NewUser, User
from ..account import AccountActor, AccountChange
from ..effects.mail import forget_mail, mail
from ..facts.accounts import ChangedAccount, ChangedUser
from ..kernel import Command, Refused, turn
from ..mail.templates import CONFIRMATION
from ..rules.complaints import refusal
from ..rules.identity import local_account
from ..rules.registration import taken
from ..rules.roles import Permission, roles_with

INVITE_ENDED = Refused(403, "This action is not allowed")
NOT_AWAITED = Refused(403, "This method is only available while the e-mail is awaiting confirmation")


@dataclass(frozen=True, slots=True)
class SignUp(Command[User]):
    """Command: create this account with its user, whose address is to be confirmed. The form has been checked."""

    username: str
    email: str
    password_hash: str
    locale: str | None
    reason: str | None
    approved: bool
    application_id: int | None = None
    token: NewToken | None = None
    address: str | None = None
    invite: str | None = None


@dataclass(frozen=True, slots=True)
class ConfirmEmail(Command[bool | None]):
    """Command: the user has opened a link that was sent to the address."""

    token_hash: bytes


@dataclass(frozen=True, slots=True)
class ResendConfirmation(Command[None]):
    """Command: send another mail, to another address if one is given."""

    email: str | None = None


@turn(AccountActor, SignUp)
async def sign_up(account: AccountActor, message: SignUp) -> User | Refused:
    """Return the user as stored. A mail is promised."""
    try:
        return await account.change(_sign_up, message)
    except Taken as error:
        return refusal([taken(error.attribute)])


async def _sign_up(change: AccountChange, message: SignUp) -> User | Refused:
    """Make the account, unless the invite is not valid any more."""
    db, account, now = change.db, change.account, change.now
    invite_id = None if message.invite is None else await invites.use(db, message.invite, now)
    if message.invite is not None and invite_id is None:
        return INVITE_ENDED
    row = local_account(account.id, message.username, account.context.base_url)
    user = NewUser(
        account.id,
        message.email,
        message.password_hash,
        locale=message.locale,
        approved_at=now if message.approved else None,
        created_by_application_id=message.application_id,
        invite_request=message.reason,
        sign_up_ip=message.address,
        invite_id=invite_id,
    )
    await registration.create(db, row, user, message.token, now)
    change.promise(mail(CONFIRMATION, account.id))
    stored = await _user(db, account.id)
    change.publish(ChangedUser(account.id, stored), ChangedAccount(account.id))
    return stored


@turn(AccountActor, ConfirmEmail)
async def confirm_email(account: AccountActor, message: ConfirmEmail) -> bool | None:
    """Confirm an address. False if it was confirmed before, None if the link is not valid for it."""
    return await account.change(_confirm, message.token_hash)


async def _confirm(change: AccountChange, token_hash: bytes) -> bool | None:
    db, account_id = change.db, change.account.id
    change.publish(ChangedAccount(account_id))  # also for a link that is not valid
    if await registration.find_confirmation(db, token_hash, change.now) != account_id:
        return None
    confirmed = await registration.confirm(db, account_id, change.now)
    user = await users.find_user(db, account_id)
    # None: the account was just deleted because it was not confirmed in time
    if user is None:
        return None
    change.publish(ChangedUser(account_id, user))
    if confirmed:
        await _notify_staff(change)
    return confirmed


async def _notify_staff(change: AccountChange) -> None:
    """Notify staff of a sign-up, which may wait for their approval."""
    staff = await users.with_roles(change.db, roles_with(Permission.MANAGE_USERS))
    await change.notify(*(NewNotification(change.ids.next(), id, change.account.id, "admin.sign_up") for id in staff))


@turn(AccountActor, ResendConfirmation)
async def resend_confirmation(account: AccountActor, message: ResendConfirmation) -> Refused | None:
    try:
        return await account.change(_resend, message.email)
    except Taken as error:
        return refusal([taken(error.attribute)])


async def _resend(change: AccountChange, email: str | None) -> Refused | None:
    """Promise another mail. It replaces a mail that waits for a retry, and is sent at once."""
    db, account_id = change.db, change.account.id
    if not await registration.is_unconfirmed(db, account_id):
        return NOT_AWAITED
    if email is not None:
        await registration.change_email(db, account_id, email)
    await forget_mail(db, CONFIRMATION, account_id)
    change.promise(mail(CONFIRMATION, account_id))
    change.publish(ChangedUser(account_id, await _user(db, account_id)))
    return None


async def _user(db: Connection, id: int) -> User:
    user = await users.find_user(db, id)
    if user is None:
        raise LookupError(f"user {id} was stored and is not there")
    return user

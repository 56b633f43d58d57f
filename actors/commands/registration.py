"""Signing up, in the first turn of the new account; confirming its address, and requesting another mail.

The caller draws the new account's id, and the actor exists before its rows. Two sign-ups with one name are turns of two
actors: a unique index decides which of them succeeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import invites, notifications, registration, users
from ...storage.engine.database import Connection
from ...storage.notifications import NewNotification, Notification
from ...storage.oauth import NewToken
from ...storage.registration import Taken
from ...storage.users import NewUser, User
from ..account import AccountActor
from ..effects.mail import MAIL, forget_mail, mail
from ..effects.notifications import notifications_added
from ..facts import AddedNotifications, ChangedAccount, ChangedUser
from ..kernel import Message, Origin, Refused, turn
from ..mail.templates import CONFIRMATION
from ..rules.complaints import refusal
from ..rules.identity import local_account
from ..rules.registration import taken
from ..rules.roles import Permission, roles_with

INVITE_ENDED = Refused(403, "This action is not allowed")
NOT_AWAITED = Refused(403, "This method is only available while the e-mail is awaiting confirmation")


@dataclass(frozen=True, slots=True)
class SignUp(Message[User]):
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
class ConfirmEmail(Message[bool | None]):
    """Command: the user has opened a link that was sent to the address."""

    token_hash: bytes


@dataclass(frozen=True, slots=True)
class ResendConfirmation(Message[None]):
    """Command: send another mail, to another address if one is given."""

    email: str | None = None


@turn(AccountActor, SignUp)
async def sign_up(account: AccountActor, message: SignUp) -> User | Refused:
    """Return the user as stored. A mail is promised."""
    try:
        user = await account.transact(_sign_up, account, message, account.now, account.origin)
    except Taken as error:
        return refusal([taken(error.attribute)])
    if user is None:
        return INVITE_ENDED
    await account.publish(ChangedUser(account.id, user), ChangedAccount(account.id))
    account.context.outbox.wake(MAIL)
    return user


async def _sign_up(
    db: Connection, account: AccountActor, message: SignUp, now: datetime, origin: Origin
) -> User | None:
    """Make the account. None if the invite is not valid any more."""
    invite_id = None if message.invite is None else await invites.use(db, message.invite, now)
    if message.invite is not None and invite_id is None:
        return None
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
    await _promise_mail(db, account, origin)
    return await _user(db, account.id)


@turn(AccountActor, ConfirmEmail)
async def confirm_email(account: AccountActor, message: ConfirmEmail) -> bool | None:
    """Confirm an address. False if it was confirmed before, None if the link is not valid for it."""
    try:
        confirmed = await account.transact(_confirm, account, message.token_hash, account.now, account.origin)
    finally:
        # Also if the outcome of the commit is not known: for other actors the account may exist now.
        await account.publish(ChangedAccount(account.id))
    if confirmed is not None:
        told = AddedNotifications(confirmed.told)
        await account.publish(ChangedUser(account.id, confirmed.user), told, promised=confirmed.promised)
    return None if confirmed is None else confirmed.now


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The outcome of the transaction, and what staff is told."""

    user: User
    now: bool
    told: list[Notification]
    promised: list[int]


async def _confirm(
    db: Connection, account: AccountActor, token_hash: bytes, now: datetime, origin: Origin
) -> Confirmed | None:
    if await registration.find_confirmation(db, token_hash, now) != account.id:
        return None
    confirmed = await registration.confirm(db, account.id, now)
    user = await users.find_user(db, account.id)
    # None: the account was just deleted because it was not confirmed in time
    if user is None:
        return None
    told = await _notify_staff(db, account, now) if confirmed else []
    promised = await account.context.outbox.promise(db, notifications_added(told), origin)
    return Confirmed(user, confirmed, told, promised)


async def _notify_staff(db: Connection, account: AccountActor, now: datetime) -> list[Notification]:
    """Notify staff of a sign-up, which may wait for their approval."""
    staff = await users.with_roles(db, roles_with(Permission.MANAGE_USERS))
    news = [NewNotification(account.context.ids.next(), id, account.id, "admin.sign_up") for id in staff]
    return await notifications.insert_many(db, news, now)


@turn(AccountActor, ResendConfirmation)
async def resend_confirmation(account: AccountActor, message: ResendConfirmation) -> Refused | None:
    try:
        user = await account.transact(_resend, account, message.email, account.origin)
    except Taken as error:
        return refusal([taken(error.attribute)])
    if user is None:
        return NOT_AWAITED
    await account.publish(ChangedUser(account.id, user))
    account.context.outbox.wake(MAIL)
    return None


async def _resend(db: Connection, account: AccountActor, email: str | None, origin: Origin) -> User | None:
    """Promise another mail. It replaces one that waits for a retry, and is sent at once."""
    if not await registration.is_unconfirmed(db, account.id):
        return None
    if email is not None:
        await registration.change_email(db, account.id, email)
    await forget_mail(db, CONFIRMATION, account.id)
    await _promise_mail(db, account, origin)
    return await _user(db, account.id)


async def _promise_mail(db: Connection, account: AccountActor, origin: Origin) -> None:
    await account.context.outbox.promise(db, [mail(CONFIRMATION, account.id)], origin)


async def _user(db: Connection, id: int) -> User:
    user = await users.find_user(db, id)
    if user is None:
        raise LookupError(f"user {id} was stored and is not there")
    return user

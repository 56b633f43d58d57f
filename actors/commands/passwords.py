"""Changing a password, and setting a new one by the link of a mail. Both end what was opened with the old one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import passwords, sessions, users
from ...storage.engine.database import Connection
from ...storage.users import User
from ..account import AccountActor
from ..effects.access import access_ended
from ..effects.mail import MAIL, forget_mail, mail, notice
from ..facts import ChangedUser, RevokedToken
from ..kernel import Message, Origin, Refused, turn
from ..mail.templates import PASSWORD_CHANGED, PASSWORD_RESET

CHANGED_MEANWHILE = Refused(409, "The password was changed meanwhile")


@dataclass(frozen=True, slots=True)
class ChangePassword(Message[None]):
    """Command: change the password that was checked. All sessions but one end, and with `apps` all tokens."""

    old_hash: str
    new_hash: str
    kept_session: bytes
    apps: bool


@dataclass(frozen=True, slots=True)
class SendPasswordReset(Message[None]):
    """Command: send the user a link that sets a new password, unless they may not sign in."""


@dataclass(frozen=True, slots=True)
class ResetPassword(Message[bool]):
    """Command: set a new password by a link. False if the link is used or not valid.

    All sessions, tokens and push subscriptions end.
    """

    token_hash: bytes
    new_hash: str


@dataclass(frozen=True, slots=True)
class NewPassword:
    """The outcome of a transaction: the user as stored, and the hashes of the tokens that were revoked."""

    user: User | None
    revoked: list[bytes]


@turn(AccountActor, ChangePassword)
async def change_password(account: AccountActor, message: ChangePassword) -> Refused | None:
    changed = await account.transact(_change, account, message, account.now, account.origin)
    if changed is None:
        return CHANGED_MEANWHILE
    return await _publish(account, changed)


@turn(AccountActor, SendPasswordReset)
async def send_password_reset(account: AccountActor, message: SendPasswordReset) -> None:
    user = account.user
    if user is None or user.barred:
        return
    await account.transact(_promise_reset, account, account.origin)
    account.context.outbox.wake(MAIL)


@turn(AccountActor, ResetPassword)
async def reset_password(account: AccountActor, message: ResetPassword) -> bool:
    changed = await account.transact(_reset, account, message, account.now, account.origin)
    if changed is None:
        return False
    await _publish(account, changed)
    return True


async def _publish(account: AccountActor, changed: NewPassword) -> None:
    await account.publish(
        ChangedUser(account.id, changed.user), *(RevokedToken(token_hash) for token_hash in changed.revoked)
    )
    account.context.outbox.wake()
    account.context.outbox.wake(MAIL)


async def _change(
    db: Connection, account: AccountActor, message: ChangePassword, now: datetime, origin: Origin
) -> NewPassword | None:
    if not await passwords.change(db, account.id, message.old_hash, message.new_hash):
        return None
    await sessions.delete_others(db, account.id, message.kept_session)
    await sessions.delete_subscriptions(db, account.id)
    revoked = await sessions.revoke_tokens(db, account.id, now) if message.apps else []
    return NewPassword(await _promise_news(db, account, origin), revoked)


async def _reset(
    db: Connection, account: AccountActor, message: ResetPassword, now: datetime, origin: Origin
) -> NewPassword | None:
    if not await passwords.use_reset(db, account.id, message.token_hash, message.new_hash, now):
        return None
    await sessions.delete_others(db, account.id, b"")
    revoked = await sessions.revoke_tokens(db, account.id, now)
    return NewPassword(await _promise_news(db, account, origin), revoked)


async def _promise_news(db: Connection, account: AccountActor, origin: Origin) -> User | None:
    user = await users.find_user(db, account.id)
    if user is not None:
        promises = [notice(PASSWORD_CHANGED, user), access_ended(account.id)]
        await account.context.outbox.promise(db, promises, origin)
    return user


async def _promise_reset(db: Connection, account: AccountActor, origin: Origin) -> None:
    """Promise a mail. It replaces one that waits for a retry, and is sent at once."""
    await forget_mail(db, PASSWORD_RESET, account.id)
    await account.context.outbox.promise(db, [mail(PASSWORD_RESET, account.id)], origin)

"""Changing a password, and setting a new password by the link of a mail. Both end the sessions of the old password."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage import passwords, sessions, users
from ..account import AccountActor, AccountChange
from ..effects.mail import forget_mail, mail, notice
from ..facts.access import EndedAccess, RevokedToken
from ..facts.accounts import ChangedUser
from ..kernel import Command, Refused, turn
from ..mail.templates import PASSWORD_CHANGED, PASSWORD_RESET

CHANGED_MEANWHILE = Refused(409, "The password was changed meanwhile")


@dataclass(frozen=True, slots=True)
class ChangePassword(Command[None]):
    """Command: change the password that was checked. All other sessions end, and with `apps` all tokens."""

    old_hash: str
    new_hash: str
    kept_session: bytes
    apps: bool


@dataclass(frozen=True, slots=True)
class SendPasswordReset(Command[None]):
    """Command: send the user a link that sets a new password, unless they may not sign in."""


@dataclass(frozen=True, slots=True)
class ResetPassword(Command[bool]):
    """Command: set a new password by a link. False if the link is used or not valid.

    All sessions, tokens and push subscriptions end.
    """

    token_hash: bytes
    new_hash: str


@turn(AccountActor, ChangePassword)
async def change_password(account: AccountActor, message: ChangePassword) -> Refused | None:
    return await account.change(_change, message)


@turn(AccountActor, SendPasswordReset)
async def send_password_reset(account: AccountActor, message: SendPasswordReset) -> None:
    user = account.user
    if user is None or user.barred:
        return
    await account.change(_promise_reset)


@turn(AccountActor, ResetPassword)
async def reset_password(account: AccountActor, message: ResetPassword) -> bool:
    return await account.change(_reset, message)


async def _change(change: AccountChange, message: ChangePassword) -> Refused | None:
    db, account_id = change.db, change.account.id
    if not await passwords.change(db, account_id, message.old_hash, message.new_hash):
        return CHANGED_MEANWHILE
    await sessions.delete_others(db, account_id, message.kept_session)
    await sessions.delete_subscriptions(db, account_id)
    revoked = await sessions.revoke_tokens(db, account_id, change.now) if message.apps else []
    return await _publish(change, revoked)


async def _reset(change: AccountChange, message: ResetPassword) -> bool:
    db, account_id = change.db, change.account.id
    if not await passwords.use_reset(db, account_id, message.token_hash, message.new_hash, change.now):
        return False
    await sessions.delete_others(db, account_id, b"")
    await _publish(change, await sessions.revoke_tokens(db, account_id, change.now))
    return True


async def _publish(change: AccountChange, revoked: Sequence[bytes]) -> None:
    """Publish a new password, and the end of the tokens with these hashes. A mail notifies the user."""
    account_id = change.account.id
    user = await users.find_user(change.db, account_id)
    change.publish(ChangedUser(account_id, user), *(RevokedToken(token_hash) for token_hash in revoked))
    if user is not None:
        change.promise(notice(PASSWORD_CHANGED, user), EndedAccess(account_id).promise())


async def _promise_reset(change: AccountChange) -> None:
    """Promise a mail. It replaces a mail that waits for a retry, and is sent at once."""
    await forget_mail(change.db, PASSWORD_RESET, change.account.id)
    change.promise(mail(PASSWORD_RESET, change.account.id))

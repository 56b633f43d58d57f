"""Changing the e-mail address: a link goes to the new one, and notices go to the one before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import email_changes, users
from ...storage.engine.database import Connection
from ...storage.registration import Taken
from ...storage.users import User
from ..account import AccountActor
from ..effects.mail import MAIL, forget_mail, mail, notice
from ..facts import ChangedUser
from ..kernel import Message, Origin, turn
from ..mail.templates import EMAIL_CHANGE, EMAIL_CHANGE_ASKED, EMAIL_CHANGED


@dataclass(frozen=True, slots=True)
class ChangeEmail(Message[None]):
    """Command: send a link to the address that the user wants to have."""

    email: str


@dataclass(frozen=True, slots=True)
class ConfirmNewEmail(Message[bool]):
    """Command: the link was opened. False if it is not valid, or another user has the address by now."""

    token_hash: bytes


@turn(AccountActor, ChangeEmail)
async def change_email(account: AccountActor, message: ChangeEmail) -> None:
    user = await account.transact(_begin, account, message.email, account.origin)
    await account.publish(ChangedUser(account.id, user))
    account.context.outbox.wake(MAIL)


@turn(AccountActor, ConfirmNewEmail)
async def confirm_new_email(account: AccountActor, message: ConfirmNewEmail) -> bool:
    try:
        user = await account.transact(_confirm, account, message.token_hash, account.now, account.origin)
    except Taken:
        return False
    if user is None:
        return False
    await account.publish(ChangedUser(account.id, user))
    account.context.outbox.wake(MAIL)
    return True


async def _begin(db: Connection, account: AccountActor, email: str, origin: Origin) -> User | None:
    """Promise the link and the notice. A link to another address that waits for a retry is not sent any more."""
    await email_changes.begin(db, account.id, email)
    await forget_mail(db, EMAIL_CHANGE, account.id)
    user = await users.find_user(db, account.id)
    if user is not None:
        promises = [mail(EMAIL_CHANGE, account.id), notice(EMAIL_CHANGE_ASKED, user)]
        await account.context.outbox.promise(db, promises, origin)
    return user


async def _confirm(
    db: Connection, account: AccountActor, token_hash: bytes, now: datetime, origin: Origin
) -> User | None:
    before = await users.find_user(db, account.id)
    if before is None or not await email_changes.confirm(db, account.id, token_hash, now):
        return None
    await account.context.outbox.promise(db, [notice(EMAIL_CHANGED, before)], origin)
    return await users.find_user(db, account.id)

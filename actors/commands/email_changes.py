"""Changing the e-mail address: the new address gets a link, the former address gets notices."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import email_changes, users
from ...storage.registration import Taken
from ..account import AccountActor, AccountChange
from ..effects.mail import forget_mail, mail, notice
from ..facts.accounts import ChangedUser
from ..kernel import Command, turn
from ..mail.templates import EMAIL_CHANGE, EMAIL_CHANGE_ASKED, EMAIL_CHANGED


@dataclass(frozen=True, slots=True)
class ChangeEmail(Command[None]):
    """Command: send a link to the address that the user wants to have."""

    email: str


@dataclass(frozen=True, slots=True)
class ConfirmNewEmail(Command[bool]):
    """Command: the link was opened. False if it is not valid, or another user has the address by now."""

    token_hash: bytes


@turn(AccountActor, ChangeEmail)
async def change_email(account: AccountActor, message: ChangeEmail) -> None:
    await account.change(_begin, message.email)


@turn(AccountActor, ConfirmNewEmail)
async def confirm_new_email(account: AccountActor, message: ConfirmNewEmail) -> bool:
    try:
        return await account.change(_confirm, message.token_hash)
    except Taken:
        return False


async def _begin(change: AccountChange, email: str) -> None:
    """Promise the link and the notice. A link to another address that waits for a retry is not sent any more."""
    db, account_id = change.db, change.account.id
    await email_changes.begin(db, account_id, email)
    await forget_mail(db, EMAIL_CHANGE, account_id)
    user = await users.find_user(db, account_id)
    change.publish(ChangedUser(account_id, user))
    if user is not None:
        change.promise(mail(EMAIL_CHANGE, account_id), notice(EMAIL_CHANGE_ASKED, user))


async def _confirm(change: AccountChange, token_hash: bytes) -> bool:
    db, account_id = change.db, change.account.id
    before = await users.find_user(db, account_id)
    if before is None or not await email_changes.confirm(db, account_id, token_hash, change.now):
        return False
    change.publish(ChangedUser(account_id, await users.find_user(db, account_id)))
    change.promise(notice(EMAIL_CHANGED, before))
    return True

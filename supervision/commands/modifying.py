"""Changes of accounts and of their access by an operator, directly in the rows, for the commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ...actors.commands.accounts import approve, delete, give_role
from ...actors.commands.moderation import named
from ...actors.effects.access import access_ended
from ...actors.effects.mail import notice
from ...actors.effects.moderation import moderation_facts
from ...actors.effects.registry import Promise
from ...actors.kernel.ids import Ids
from ...actors.mail.templates import EMAIL_CHANGED, PASSWORD_CHANGED, TWO_FACTOR_OFF
from ...actors.rules.mailboxes import spelled
from ...actors.staff import StaffAct, act_at_command_line
from ...storage import moderation, oauth, passwords, registration, sessions, two_factor, users
from ...storage.accounts import Account
from ...storage.engine.database import Connection
from ...storage.moderation import ModeratedRow
from ...storage.users import User
from .acting import NotDone, allowed
from .finding import InvalidAccount, find_account, find_local
from .listing import Described
from .making import check_account
from .moderating import announce_change


@dataclass(frozen=True, slots=True)
class AccountChanges:
    """The changes to a user. Each change that is given is made, or none at all."""

    role: str | None = None
    email: str | None = None
    confirm: bool = False
    approve: bool = False
    password_hash: str | None = None
    disable_two_factor: bool = False


async def modify(
    db: Connection, handle: str, local_domain: str, wanted: AccountChanges, ids: Ids, now: datetime
) -> str:
    """Make changes to the user of an account. Return its name."""
    account, target = await _locked(db, handle, local_domain)
    act = act_at_command_line(ids, now)
    if wanted.role is not None:
        allowed(await give_role(db, act, account.id, wanted.role))
    if wanted.approve:
        await _approve(db, act, account)
    if wanted.email is not None:
        await _change_email(db, act, target, wanted.email)
    if wanted.confirm and await registration.confirm(db, account.id, now):
        await act.log(db, "confirm", named(target))
    if wanted.password_hash is not None:
        await _reset_password(db, act, target, wanted.password_hash)
    if wanted.disable_two_factor:
        await _disable_two_factor(db, act, target)
    await act.publish(db, await moderation_facts(db, account.id))
    await announce_change(db)
    return account.acct


async def delete_account(db: Connection, handle: str, local_domain: str, ids: Ids, now: datetime) -> dict[str, object]:
    """Delete an account, as its user would. Return what is deleted."""
    account = await find_account(db, handle, local_domain)
    allowed(await delete(db, act_at_command_line(ids, now), account.id))
    await announce_change(db)
    return {
        "account": account.acct,
        "statuses": account.statuses_count,
        "followers": account.followers_count,
        "following": account.following_count,
    }


async def list_tokens(
    db: Connection, handle: str, local_domain: str, limit: int, ids: Ids, now: datetime
) -> list[Described]:
    """Return the valid tokens of an account, as JSON. Their secrets are not stored."""
    account = await find_local(db, handle, local_domain)
    return [
        {
            "id": str(token.id),
            "application": token.application,
            "scopes": list(token.scopes),
            "created_at": token.created_at.isoformat(),
            "last_used_at": None if token.last_used_at is None else token.last_used_at.isoformat(),
        }
        for token in await oauth.valid_tokens(db, account.id, limit)
    ]


async def revoke_tokens(
    db: Connection, handle: str, local_domain: str, only: Sequence[int], ids: Ids, now: datetime
) -> int:
    """Revoke some tokens of an account, or all. Return how many were revoked."""
    account, target = await _locked(db, handle, local_domain)
    act = act_at_command_line(ids, now)
    if only:
        for id in only:
            if not await oauth.revoke_one(db, account.id, id, now):
                raise NotDone(f"@{account.acct} has no valid token {id}.")
        count = len(only)
    else:
        count = len(await sessions.revoke_tokens(db, account.id, now))
    await act.log(db, "revoke_tokens", named(target), tokens=[str(id) for id in only] or "all")
    await act.promise(db, [access_ended(account.id)])
    await announce_change(db)
    return count


async def end_sessions(db: Connection, handle: str, local_domain: str, ids: Ids, now: datetime) -> tuple[str, int]:
    """Sign a user out of all browsers. Return the account's name, and out of how many."""
    account, target = await _locked(db, handle, local_domain)
    count = await sessions.delete_others(db, account.id, b"")
    await act_at_command_line(ids, now).log(db, "revoke_sessions", named(target))
    return account.acct, count


async def _locked(db: Connection, handle: str, local_domain: str) -> tuple[Account, ModeratedRow]:
    account = await find_local(db, handle, local_domain)
    target = await moderation.lock(db, account.id)
    if target is None or target.role is None:
        raise InvalidAccount(f"@{account.acct} has no user")
    return account, target


async def _approve(db: Connection, act: StaffAct, account: Account) -> None:
    user = await _user(db, account.id)
    if user.approved_at is None:
        allowed(await approve(db, act, account.id))


async def _change_email(db: Connection, act: StaffAct, target: ModeratedRow, email: str) -> None:
    """Store another address. The operator vouches for it: a confirmed user stays confirmed."""
    check_account(target.username, email)
    before = await _user(db, target.id)
    try:
        await registration.change_email(db, target.id, spelled(email))
    except registration.Taken:
        raise InvalidAccount(f"the e-mail address {email} is taken") from None
    await act.log(db, "change_email", named(target))
    await act.promise(db, [notice(EMAIL_CHANGED, before)])


async def _reset_password(db: Connection, act: StaffAct, target: ModeratedRow, new_hash: str) -> None:
    """Store a new password, and end all access by the old one."""
    await passwords.replace(db, target.id, new_hash)
    await sessions.delete_others(db, target.id, b"")
    await sessions.revoke_tokens(db, target.id, act.now)
    await act.log(db, "reset_password", named(target))
    promises: list[Promise] = [access_ended(target.id), notice(PASSWORD_CHANGED, await _user(db, target.id))]
    await act.promise(db, promises)


async def _disable_two_factor(db: Connection, act: StaffAct, target: ModeratedRow) -> None:
    if await two_factor.disable(db, target.id):
        await act.log(db, "disable_2fa", named(target))
        await act.promise(db, [notice(TWO_FACTOR_OFF, await _user(db, target.id))])


async def _user(db: Connection, account_id: int) -> User:
    user = await users.find_user(db, account_id)
    if user is None:
        raise InvalidAccount(f"the account {account_id} has no user")
    return user

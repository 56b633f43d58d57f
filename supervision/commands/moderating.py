"""Acts of staff on accounts, directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.commands.accounts import approve, reject
from ...actors.commands.moderation import Action, ModerateAccount, moderate, undo
from ...actors.kernel import Refused
from ...actors.kernel.ids import Ids
from ...actors.staff import COMMAND_LINE, act_at_command_line
from ...storage.accounts import Account
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.moderation import State
from .finding import InvalidAccount, find_account, find_sign_up


async def act_on(
    db: Connection, handle: str, local_domain: str, action: Action, reason: str, ids: Ids, now: datetime
) -> str:
    """Put an account in a state. Return its name."""
    account = await find_account(db, handle, local_domain)
    message = ModerateAccount(COMMAND_LINE, action, reason)
    return await _done(db, account, await moderate(db, act_at_command_line(ids, now), account.id, message))


async def undo_on(db: Connection, handle: str, local_domain: str, state: State, ids: Ids, now: datetime) -> str:
    """Take an account out of a state. Return its name."""
    account = await find_account(db, handle, local_domain)
    return await _done(db, account, await undo(db, act_at_command_line(ids, now), account.id, state))


async def approve_on(db: Connection, handle: str, local_domain: str, ids: Ids, now: datetime) -> str:
    """Approve a sign-up, and promise a mail about it. Return the account's name."""
    account = await find_sign_up(db, handle, local_domain)
    return await _done(db, account, await approve(db, act_at_command_line(ids, now), account.id))


async def reject_on(db: Connection, handle: str, local_domain: str, ids: Ids, now: datetime) -> str:
    """Delete the account of a sign-up that was not approved. Return its name."""
    account = await find_sign_up(db, handle, local_domain)
    return await _done(db, account, await reject(db, act_at_command_line(ids, now), account.id))


async def _done(db: Connection, account: Account, refused: object) -> str:
    if isinstance(refused, Refused):
        raise InvalidAccount(f"@{account.acct}: {refused.text}")
    await announce_change(db)
    return account.acct


async def announce_change(db: Connection) -> None:
    """Have the server read accounts and tokens again at once, and carry out what was promised."""
    await notices.announce(db, "accounts")
    await notices.announce(db, "outbox")

"""Acts of staff on accounts, directly in the rows, for the commands."""

from __future__ import annotations

from datetime import datetime

from ...actors.commands.moderation import Action, ModerateAccount, moderate, undo
from ...actors.kernel import Refused
from ...actors.kernel.ids import Ids
from ...actors.rules.identity import handle_of
from ...actors.staff import COMMAND_LINE, act_at_command_line
from ...storage import accounts
from ...storage.accounts import Account
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.moderation import State
from .making import InvalidAccount


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


async def find_account(db: Connection, handle: str, local_domain: str) -> Account:
    """Return the account of `name`, `@name` or `name@domain`. Raises InvalidAccount."""
    named = handle_of(handle, local_domain)
    found = None if named is None else await accounts.find_by_acct(db, named[0], named[1])
    if found is None or found.deleted_at is not None:
        raise InvalidAccount(f"there is no account {handle}")
    return found


async def _done(db: Connection, account: Account, refused: object) -> str:
    if isinstance(refused, Refused):
        raise InvalidAccount(f"@{account.acct}: {refused.text}")
    await notices.announce(db, "outbox")
    return account.acct

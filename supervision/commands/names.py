"""Accounts and domains by the names that operators give, and the errors for names that can't be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actors.rules.identity import handle_of, pasted_domain
from ...storage import accounts
from .refusals import Unfit, WrongValue

if TYPE_CHECKING:
    from ...storage.accounts import Account
    from ...storage.engine.database import Connection
    from ...storage.moderation import ModeratedRow
    from .rows import Here


class InvalidAccount(Unfit):
    """Raised when an account or a token can't be made. The text says why, and names the line of an import."""


class WrongAccount(InvalidAccount):
    """Raised for a name, an address, a role or a scope that no account can have."""

    exit_code = 2


async def find_local(db: Connection, here: Here, handle: str) -> Account:
    """Return the account of this server with a handle. Raises InvalidAccount."""
    account = await find_account(db, here, handle)
    if not account.local:
        raise InvalidAccount(f"@{account.acct} is an account of another server")
    return account


async def find_account(db: Connection, here: Here, handle: str) -> Account:
    """Return the account of `name`, `@name` or `name@domain`. Raises InvalidAccount."""
    named = handle_of(handle, here.domain)
    found = None if named is None else await accounts.find_by_acct(db, named[0], named[1])
    if found is None or found.deleted_at is not None:
        raise InvalidAccount(f"there is no account {handle}")
    return found


async def lock_local(db: Connection, here: Here, handle: str) -> tuple[Account, ModeratedRow]:
    """Return the account of this server with a handle, and its states, locked. Raises InvalidAccount without a user."""
    from ...storage import moderation

    account = await find_local(db, here, handle)
    target = await moderation.lock(db, account.id)
    if target is None or target.role is None:
        raise InvalidAccount(f"@{account.acct} has no user")
    return account, target


async def notify_servers(db: Connection) -> None:
    """Have the server read accounts and tokens again at once."""
    from ...storage.engine import notices

    await notices.send(db, "accounts")


def checked_domain(written: str) -> str:
    """Return a domain as it is stored. Raises WrongValue."""
    domain = pasted_domain(written)
    if domain is None:
        raise WrongValue(f"{written!r} is not a domain.")
    return domain

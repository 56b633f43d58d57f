"""Accounts by the names that operators give, and why one can't be acted on."""

from __future__ import annotations

from ...actors.rules.identity import handle_of
from ...storage import accounts, users
from ...storage.accounts import Account
from ...storage.engine.database import Connection


class InvalidAccount(Exception):
    """Raised when an account or a token can't be made. The text says why, and names the line of an import."""


class WrongAccount(InvalidAccount):
    """Raised for a name, an address, a role or a scope that no account can have."""


async def find_sign_up(db: Connection, handle: str, local_domain: str) -> Account:
    """Return the account of a sign-up that is not approved. Raises InvalidAccount."""
    account = await find_local(db, handle, local_domain)
    user = await users.find_user(db, account.id)
    if user is not None and user.approved_at is not None:
        raise InvalidAccount(f"@{account.acct} is approved already")
    return account


async def find_local(db: Connection, handle: str, local_domain: str) -> Account:
    """Return the account of this server with a handle. Raises InvalidAccount."""
    account = await find_account(db, handle, local_domain)
    if not account.local:
        raise InvalidAccount(f"@{account.acct} is an account of another server")
    return account


async def find_account(db: Connection, handle: str, local_domain: str) -> Account:
    """Return the account of `name`, `@name` or `name@domain`. Raises InvalidAccount."""
    named = handle_of(handle, local_domain)
    found = None if named is None else await accounts.find_by_acct(db, named[0], named[1])
    if found is None or found.deleted_at is not None:
        raise InvalidAccount(f"there is no account {handle}")
    return found

"""Rows that tests begin with, stored without the product's ways to make them."""

from datetime import datetime

from troupe.storage import account_names, accounts, users
from troupe.storage.accounts import Account, NewAccount
from troupe.storage.engine.database import Connection
from troupe.storage.users import NewUser


async def create_account(db: Connection, new: NewAccount, now: datetime) -> Account:
    """Store an account, local or remote; a taken handle raises asyncpg's UniqueViolationError."""
    await db.execute(*accounts.INSERT_MANY.bind_many([new], now=now))
    await account_names.store(db, [new.id])
    account = await accounts.find(db, new.id)
    assert account is not None
    return account


async def create_user(db: Connection, new: NewUser, now: datetime) -> None:
    """Store a user of an account; a taken e-mail address raises asyncpg's UniqueViolationError."""
    await users.create_many(db, [new], now)

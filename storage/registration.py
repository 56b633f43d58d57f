"""Signing up: an account with its user and its first token, and the links by which users confirm their addresses."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from . import accounts, oauth, users
from .accounts import NewAccount
from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .engine.statement_errors import UniqueViolationError
from .oauth import NewToken
from .users import MailedLink, NewUser

INSERT_CONFIRMATION = Statement(insert_into("confirmations", "token_hash, account_id, email, created_at, expires_at"))

FIND_CONFIRMATION = """
    SELECT c.account_id FROM confirmations c JOIN users u ON u.account_id = c.account_id
    WHERE c.token_hash = $1 AND c.expires_at > $2 AND c.email = u.email
"""

CONFIRM = "UPDATE users SET confirmed_at = $2 WHERE account_id = $1 AND confirmed_at IS NULL RETURNING account_id"

# A confirmation of the address waits for the end of the transaction, and then finds the changed row.
LOCK_USER = "SELECT confirmed_at FROM users WHERE account_id = $1 FOR UPDATE"

CHANGE_EMAIL = "UPDATE users SET email = $2, new_email = NULL WHERE account_id = $1"

APPROVE = "UPDATE users SET approved_at = $2 WHERE account_id = $1 AND approved_at IS NULL RETURNING account_id"

REJECT = """
    DELETE FROM accounts a USING users u
    WHERE a.id = $1 AND u.account_id = a.id AND u.approved_at IS NULL RETURNING a.id
"""

Attribute = Literal["username", "email"]
# The unique indexes, and the attributes that they protect.
UNIQUE: Mapping[str, Attribute] = {
    "accounts_handle": "username",
    "accounts_uri": "username",
    "users_email": "email",
}


class Taken(Exception):
    """Raised when another account has the name or the address."""

    def __init__(self, attribute: Attribute) -> None:
        super().__init__(attribute)
        self.attribute: Attribute = attribute


async def create(db: Connection, account: NewAccount, user: NewUser, token: NewToken | None, now: datetime) -> None:
    """Store an account with its user and, for an app, its token.

    Raises Taken; then the transaction must be rolled back.
    """
    try:
        await accounts.create_local_many(db, [account], now)
        await users.create_many(db, [user], now)
    except UniqueViolationError as error:
        raise _taken(error) from None
    if token is not None:
        await oauth.insert_token(db, token, now)


async def taken(db: Connection, username: str, email: str) -> list[Attribute]:
    """Return which of name and address are taken. The result holds only for this moment."""
    found: list[Attribute] = []
    if await accounts.find_local_many(db, [username]):
        found.append("username")
    if await users.taken_emails(db, [email]):
        found.append("email")
    return found


async def insert_confirmation(db: Connection, new: MailedLink) -> None:
    """Store a link."""
    await db.execute(*INSERT_CONFIRMATION.bind(new))


async def find_confirmation(db: Connection, token_hash: bytes, now: datetime) -> int | None:
    """Return the account whose address a link confirms, or did. None if the link is not valid."""
    return await db.fetchval(FIND_CONFIRMATION, token_hash, now)


async def confirm(db: Connection, account_id: int, now: datetime) -> bool:
    """Note that the address is the user's. False if it was confirmed."""
    return await db.fetchval(CONFIRM, account_id, now) is not None


async def is_unconfirmed(db: Connection, account_id: int) -> bool:
    """True if the user is not confirmed yet. This stays so until the end of the transaction."""
    row = await db.fetchrow(LOCK_USER, account_id)
    return row is not None and row["confirmed_at"] is None


async def change_email(db: Connection, account_id: int, email: str) -> None:
    """Give a user another address. The links of the old address become invalid. Raises Taken."""
    try:
        await db.execute(CHANGE_EMAIL, account_id, email)
    except UniqueViolationError as error:
        raise _taken(error) from None


async def approve(db: Connection, account_id: int, now: datetime) -> bool:
    """Approve a user. False if it was approved."""
    return await db.fetchval(APPROVE, account_id, now) is not None


async def reject(db: Connection, account_id: int) -> bool:
    """Delete a user who was never approved, and the account. False if there is none."""
    return await db.fetchval(REJECT, account_id) is not None


def _taken(error: UniqueViolationError) -> Exception:
    # asyncpg gives its errors the fields of PostgreSQL's answer, and declares none of them.
    attribute = UNIQUE.get(getattr(error, "constraint_name", None) or "")
    return error if attribute is None else Taken(attribute)

"""Users: the part of a local account that signs in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection, Row
from .engine.json_values import JsonObject
from .engine.sql import Statement, quoted, rows_of

COLUMNS = """
    u.account_id, a.username, u.email, u.password_hash, u.role, u.locale, u.default_privacy, u.default_sensitive,
    u.default_language, u.default_quote_policy, u.settings, u.created_by_application_id, u.invite_request,
    u.confirmed_at, u.approved_at, u.disabled_at, a.suspended_at, a.deleted_at, u.created_at,
    u.new_email, a.moved_to_id
"""

FIND = f"SELECT {COLUMNS} FROM users u JOIN accounts a ON a.id = u.account_id WHERE u.account_id = $1"

FIND_BY_EMAIL = f"SELECT {COLUMNS} FROM users u JOIN accounts a ON a.id = u.account_id WHERE lower(u.email) = lower($1)"

FIND_BY_NAME = f"""
    SELECT {COLUMNS} FROM users u JOIN accounts a ON a.id = u.account_id
    WHERE lower(a.username) = lower($1) AND lower(coalesce(a.domain, '')) = ''
"""

TAKEN_EMAILS = "SELECT lower(email) AS email FROM users WHERE lower(email) = ANY($1::text[])"

NEW_COLUMNS = {
    "account_id": "bigint",
    "email": "text",
    "password_hash": "text",
    "role": "text",
    "locale": "text",
    "confirmed_at": "timestamptz",
    "approved_at": "timestamptz",
    "created_by_application_id": "bigint",
    "invite_request": "text",
    "sign_up_ip": "inet",
    "invite_id": "bigint",
}

INSERT_MANY = Statement(f"""
    INSERT INTO users ({quoted(NEW_COLUMNS)}, created_at)
    SELECT new.*, :now::timestamptz FROM {rows_of(NEW_COLUMNS, "new")}
""")

WITH_ROLES = """
    SELECT u.account_id FROM users u JOIN accounts a ON a.id = u.account_id
    WHERE u.role = ANY($1::text[]) AND u.disabled_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
    ORDER BY u.account_id
"""

# Only if the hash that was checked is still stored: a password changed in the meantime stays changed.
REPLACE_HASH = "UPDATE users SET password_hash = $3 WHERE account_id = $1 AND password_hash = $2"


@dataclass(frozen=True, slots=True)
class User:
    """The user of a local account, with the account's state (suspended, deleted)."""

    account_id: int
    username: str
    email: str
    password_hash: str | None
    role: str
    locale: str | None
    default_privacy: str
    default_sensitive: bool
    default_language: str | None
    default_quote_policy: str
    settings: JsonObject
    created_by_application_id: int | None
    invite_request: str | None
    confirmed_at: datetime | None
    approved_at: datetime | None
    disabled_at: datetime | None
    suspended_at: datetime | None
    deleted_at: datetime | None
    created_at: datetime
    new_email: str | None = None  # the address that takes the place of `email` when it is confirmed
    moved_to_id: int | None = None  # the account that this account has moved to

    @property
    def barred(self) -> bool:
        """True if the user may not sign in: disabled, suspended or deleted."""
        return not (self.disabled_at is None and self.suspended_at is None and self.deleted_at is None)

    @property
    def inactive(self) -> bool:
        """True if the user may not act with the account: barred, or moved. Who has moved signs in to come back."""
        return self.barred or self.moved_to_id is not None


@dataclass(frozen=True, slots=True)
class MailedLink:
    """A link that is sent to a user's address, and is valid for a time: to confirm the address, or for a password."""

    token_hash: bytes
    account_id: int
    email: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user when it is first stored."""

    account_id: int
    email: str
    password_hash: str | None
    role: str = "user"
    locale: str | None = None
    confirmed_at: datetime | None = None
    approved_at: datetime | None = None
    created_by_application_id: int | None = None
    invite_request: str | None = None
    sign_up_ip: str | None = None
    invite_id: int | None = None


async def create_many(db: Connection, new: Sequence[NewUser], now: datetime) -> None:
    """Store many users in one statement, all or none. Their accounts must exist."""
    await db.execute(*INSERT_MANY.bind_many(new, now=now))


async def find_user(db: Connection, account_id: int) -> User | None:
    return _user(await db.fetchrow(FIND, account_id))


async def find_user_by_login(db: Connection, name_or_email: str) -> User | None:
    """Return the user with a name or an e-mail address. A username never contains an `@`."""
    query = FIND_BY_EMAIL if "@" in name_or_email.lstrip("@") else FIND_BY_NAME
    return _user(await db.fetchrow(query, name_or_email.strip().lstrip("@")))


async def taken_emails(db: Connection, emails: Sequence[str]) -> set[str]:
    """Return which of these e-mail addresses users have, in lower case."""
    return {row["email"] for row in await db.fetch(TAKEN_EMAILS, [email.lower() for email in emails])}


async def with_roles(db: Connection, roles: Sequence[str]) -> list[int]:
    """Return the accounts of users with one of these roles who may sign in."""
    return [row["account_id"] for row in await db.fetch(WITH_ROLES, roles)]


async def replace_hash(db: Connection, account_id: int, old: str, new: str) -> None:
    """Store another hash of the same password, made by newer parameters."""
    await db.execute(REPLACE_HASH, account_id, old, new)


def _user(row: Row | None) -> User | None:
    return User(**row) if row is not None else None

"""The sessions of browsers, and the end of all access to an account: its sessions, codes, tokens and subscriptions."""

from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection

# Only if the password that was checked is still valid: a change of the password ends all sessions. The user's row is
# locked, so that a change at the same time waits, and then ends this session too.
INSERT = """
    INSERT INTO web_sessions (token_hash, account_id, agent, created_at, expires_at)
    SELECT $1, $2, $3, $4, $5 FROM users WHERE account_id = $2 AND password_hash = $6 FOR SHARE
    RETURNING account_id
"""

FIND = "SELECT account_id FROM web_sessions WHERE token_hash = $1 AND expires_at > $2"

OF_ACCOUNT = """
    SELECT token_hash, agent, created_at FROM web_sessions WHERE account_id = $1 AND expires_at > $2
    ORDER BY created_at DESC LIMIT $3
"""

DELETE = "DELETE FROM web_sessions WHERE token_hash = $1"

DELETE_OTHERS = "DELETE FROM web_sessions WHERE account_id = $1 AND token_hash <> $2 RETURNING 1"

DELETE_CHALLENGES = "DELETE FROM sign_in_challenges WHERE account_id = $1"

DELETE_GRANTS = "DELETE FROM oauth_grants WHERE account_id = $1"

# A code that was redeemed is kept: if it comes again, the token that it made is revoked.
DELETE_WAITING_GRANTS = "DELETE FROM oauth_grants WHERE account_id = $1 AND used_at IS NULL"

DELETE_SUBSCRIPTIONS = "DELETE FROM push_subscriptions WHERE account_id = $1"

REVOKE_TOKENS = """
    UPDATE access_tokens SET revoked_at = $2 WHERE account_id = $1 AND revoked_at IS NULL RETURNING token_hash
"""

REVOKED_TOKENS = "SELECT token_hash FROM access_tokens WHERE account_id = $1 AND revoked_at IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Session:
    """A browser in which a user is signed in."""

    token_hash: bytes
    agent: str | None
    created_at: datetime


async def insert(
    db: Connection,
    token_hash: bytes,
    account_id: int,
    agent: str | None,
    password_hash: str,
    now: datetime,
    expires_at: datetime,
) -> bool:
    """Store a session. False if the user's password no longer has this hash."""
    return await db.fetchval(INSERT, token_hash, account_id, agent, now, expires_at, password_hash) is not None


async def find(db: Connection, token_hash: bytes, now: datetime) -> int | None:
    """Return the account of a browser's session."""
    return await db.fetchval(FIND, token_hash, now)


async def of_account(db: Connection, account_id: int, now: datetime, limit: int) -> list[Session]:
    """Return the newest sessions of an account."""
    return [Session(**row) for row in await db.fetch(OF_ACCOUNT, account_id, now, limit)]


async def delete(db: Connection, token_hash: bytes) -> None:
    await db.execute(DELETE, token_hash)


async def delete_others(db: Connection, account_id: int, kept: bytes) -> int:
    """End the sessions of an account in all browsers but one, and what was begun in them. Return how many ended.

    These are the sign-ins that wait for a code, and the codes that apps have not redeemed.
    """
    ended = await db.fetch(DELETE_OTHERS, account_id, kept)
    await db.execute(DELETE_CHALLENGES, account_id)
    await db.execute(DELETE_WAITING_GRANTS, account_id)
    return len(ended)


async def close(db: Connection, account_id: int) -> None:
    """End the sessions, codes and push subscriptions of a user who may not sign in for now. Tokens stay."""
    await delete_others(db, account_id, b"")
    await db.execute(DELETE_GRANTS, account_id)
    await delete_subscriptions(db, account_id)


async def delete_subscriptions(db: Connection, account_id: int) -> None:
    """End the Web Push subscriptions of all devices of an account."""
    await db.execute(DELETE_SUBSCRIPTIONS, account_id)


async def revoke_tokens(db: Connection, account_id: int, now: datetime) -> list[bytes]:
    """Revoke all tokens of an account, with their push subscriptions. Return their hashes.

    Codes are deleted first: a code that is exchanged at this moment has made its token when its row is free.
    """
    await db.execute(DELETE_GRANTS, account_id)
    await delete_subscriptions(db, account_id)
    return [row["token_hash"] for row in await db.fetch(REVOKE_TOKENS, account_id, now)]


async def revoked_tokens(db: Connection, account_id: int) -> list[bytes]:
    """Return the hashes of an account's tokens that were revoked."""
    return [row["token_hash"] for row in await db.fetch(REVOKED_TOKENS, account_id)]

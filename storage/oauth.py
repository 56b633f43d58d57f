"""OAuth: applications, grants and tokens. Secrets are passed and stored as hashes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from . import passwords, sessions
from .engine.database import Connection, Row, replaced
from .engine.sql import Statement, insert_into

APPLICATION_COLUMNS = "id, client_id, secret_hash, name, website, redirect_uris, scopes, created_at"

INSERT_APPLICATION = Statement(insert_into("applications", APPLICATION_COLUMNS))

FIND_APPLICATION = f"SELECT {APPLICATION_COLUMNS} FROM applications WHERE id = $1"

FIND_CLIENT = f"SELECT {APPLICATION_COLUMNS} FROM applications WHERE client_id = $1"

GRANT_COLUMNS = "code_hash, application_id, account_id, redirect_uri, scopes, code_challenge, created_at, expires_at"

INSERT_GRANT = Statement(insert_into("oauth_grants", GRANT_COLUMNS))

# Single use: of two requests with one code, the second finds it used. A wrong client or redirect address uses nothing
# up.
REDEEM = f"""
    UPDATE oauth_grants SET used_at = $4
    WHERE code_hash = $1 AND application_id = $2 AND redirect_uri = $3 AND used_at IS NULL AND expires_at > $4
    RETURNING {GRANT_COLUMNS}
"""

# Locked, so that a second request with the same code waits here, and then finds the token of the first.
FIND_GRANT = f"""
    SELECT {GRANT_COLUMNS} FROM oauth_grants WHERE code_hash = $1 AND used_at IS NULL AND expires_at > $2 FOR UPDATE
"""

LINK_GRANT = "UPDATE oauth_grants SET token_id = $2 WHERE code_hash = $1"

ISSUE = Statement(insert_into("access_tokens", "id, token_hash, application_id, account_id, scopes, created_at"))

WITH_STATE = """
    t.id, t.token_hash, t.application_id, t.account_id, t.scopes, t.created_at, t.last_used_at, t.revoked_at,
    app.name AS application_name, app.website AS application_website,
    u.role, u.confirmed_at, u.approved_at, u.disabled_at, a.suspended_at, a.deleted_at, a.moved_to_id
"""

FIND_TOKEN = f"""
    SELECT {WITH_STATE} FROM access_tokens t
    JOIN applications app ON app.id = t.application_id
    LEFT JOIN accounts a ON a.id = t.account_id
    LEFT JOIN users u ON u.account_id = t.account_id
    WHERE t.token_hash = $1
"""

FIND_TOKENS = FIND_TOKEN.replace("t.token_hash = $1", "t.token_hash = ANY($1)")

# A revoked token's push subscription goes with it.
REVOKE = """
    WITH revoked AS (
        UPDATE access_tokens SET revoked_at = $3
        WHERE token_hash = $1 AND application_id = $2 AND revoked_at IS NULL RETURNING id
    ), ended AS (
        DELETE FROM push_subscriptions p USING revoked WHERE p.token_id = revoked.id
    )
    SELECT id FROM revoked
"""

REVOKE_BY_CODE = """
    WITH revoked AS (
        UPDATE access_tokens t SET revoked_at = $3 FROM oauth_grants g
        WHERE g.code_hash = $1 AND g.application_id = $2 AND t.id = g.token_id AND t.revoked_at IS NULL
        RETURNING t.id, t.token_hash
    ), ended AS (
        DELETE FROM push_subscriptions p USING revoked WHERE p.token_id = revoked.id
    )
    SELECT token_hash FROM revoked
"""

HOLDS = """
    SELECT EXISTS (
        SELECT FROM access_tokens
        WHERE account_id = $1 AND application_id = $2 AND revoked_at IS NULL AND scopes @> $3::text[]
    )
"""

AUTHORIZED = """
    SELECT app.id, app.name, app.website, min(t.created_at) AS since, max(t.last_used_at) AS last_used_at,
        array_agg(DISTINCT scope ORDER BY scope) AS scopes
    FROM access_tokens t JOIN applications app ON app.id = t.application_id CROSS JOIN unnest(t.scopes) AS scope
    WHERE t.account_id = $1 AND t.revoked_at IS NULL
    GROUP BY app.id ORDER BY since DESC, app.id DESC LIMIT $2
"""

VALID = """
    SELECT t.id, app.name AS application, t.scopes, t.created_at, t.last_used_at
    FROM access_tokens t JOIN applications app ON app.id = t.application_id
    WHERE t.account_id = $1 AND t.revoked_at IS NULL ORDER BY t.id DESC LIMIT $2
"""

REVOKE_ONE = """
    WITH revoked AS (
        UPDATE access_tokens SET revoked_at = $3
        WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING id
    ), ended AS (
        DELETE FROM push_subscriptions p USING revoked WHERE p.token_id = revoked.id
    )
    SELECT id FROM revoked
"""

DELETE_GRANTS_OF = "DELETE FROM oauth_grants WHERE account_id = $1 AND application_id = $2"

REVOKE_OF = """
    WITH revoked AS (
        UPDATE access_tokens SET revoked_at = $3
        WHERE account_id = $1 AND application_id = $2 AND revoked_at IS NULL RETURNING id, token_hash
    ), ended AS (
        DELETE FROM push_subscriptions p USING revoked WHERE p.token_id = revoked.id
    )
    SELECT token_hash FROM revoked
"""


@dataclass(frozen=True, slots=True)
class Application:
    """A client program that may ask users for access."""

    id: int
    client_id: str
    secret_hash: bytes
    name: str
    website: str | None
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Grant:
    """A user's consent, to be exchanged once for a token."""

    code_hash: bytes
    application_id: int
    account_id: int
    redirect_uri: str
    scopes: tuple[str, ...]
    code_challenge: str | None
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token when it is issued; without an account it is the application's own."""

    id: int
    token_hash: bytes
    application_id: int
    account_id: int | None
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its application and the state of its user: everything that a request is checked by."""

    id: int
    token_hash: bytes
    application_id: int
    account_id: int | None
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    application_name: str
    application_website: str | None
    role: str | None
    confirmed_at: datetime | None
    approved_at: datetime | None
    disabled_at: datetime | None
    suspended_at: datetime | None
    deleted_at: datetime | None
    moved_to_id: int | None


@dataclass(frozen=True, slots=True)
class AuthorizedApplication:
    """An application that has valid tokens of a user: all their scopes, and the time of the first token."""

    id: int
    name: str
    website: str | None
    since: datetime
    last_used_at: datetime | None
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValidToken:
    """A token of a user that is not revoked, without its secret."""

    id: int
    application: str
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime | None


async def insert_application(db: Connection, app: Application) -> None:
    await db.execute(*INSERT_APPLICATION.bind(app))


async def find_application(db: Connection, id: int) -> Application | None:
    return _application(await db.fetchrow(FIND_APPLICATION, id))


async def find_client(db: Connection, client_id: str) -> Application | None:
    return _application(await db.fetchrow(FIND_CLIENT, client_id))


async def insert_grant(db: Connection, grant: Grant, session_hash: bytes) -> bool:
    """Store what a user allows in a browser. False if the browser's session has ended.

    The user is locked first: a change of the password at the same time either waits, and then deletes the grant, or is
    waited for, and has ended the session.
    """
    await passwords.hold(db, grant.account_id)
    if await sessions.find(db, session_hash, grant.created_at) != grant.account_id:
        return False
    await db.execute(*INSERT_GRANT.bind(grant))
    return True


async def find_grant(db: Connection, code_hash: bytes, now: datetime) -> Grant | None:
    """Return an unused grant, to check it before it is redeemed (the PKCE verifier).

    It is locked for the transaction.
    """
    return _grant(await db.fetchrow(FIND_GRANT, code_hash, now))


async def redeem(
    db: Connection, code_hash: bytes, application_id: int, redirect_uri: str, now: datetime
) -> Grant | None:
    """Use a grant up. None if it is unknown, used, expired, of another client or for another address."""
    return _grant(await db.fetchrow(REDEEM, code_hash, application_id, redirect_uri, now))


async def link_grant(db: Connection, code_hash: bytes, token_id: int) -> None:
    """Store which token a grant was redeemed for."""
    await db.execute(LINK_GRANT, code_hash, token_id)


async def revoke_by_code(db: Connection, code_hash: bytes, application_id: int, now: datetime) -> bytes | None:
    """Revoke the token that this application's code was redeemed for. Return its hash; None without a valid token."""
    return await db.fetchval(REVOKE_BY_CODE, code_hash, application_id, now)


async def insert_token(db: Connection, new: NewToken, now: datetime) -> Token:
    await db.execute(*ISSUE.bind(new, created_at=now))
    token = await find_token(db, new.token_hash)
    if token is None:
        raise LookupError(f"token {new.id} was stored and is not there")
    return token


async def insert_token_by_password(db: Connection, new: NewToken, password_hash: str, now: datetime) -> Token | None:
    """Store a token for a password that was checked. None if the user's password no longer has this hash.

    As for sessions, a change of the password at the same time waits, and then revokes this token with the others.
    """
    if new.account_id is None or await passwords.hold(db, new.account_id) != password_hash:
        return None
    return await insert_token(db, new, now)


async def find_token(db: Connection, token_hash: bytes) -> Token | None:
    """Return a token by its hash, also a revoked token, for which the answer to the client differs."""
    row = await db.fetchrow(FIND_TOKEN, token_hash)
    return None if row is None else _token(row)


async def find_tokens(db: Connection, token_hashes: Sequence[bytes]) -> list[Token]:
    """Return the tokens with these hashes, also revoked tokens."""
    return [_token(row) for row in await db.fetch(FIND_TOKENS, token_hashes)]


def _token(row: Row) -> Token:
    return Token(**replaced(row, scopes=tuple(row["scopes"])))


async def revoke(db: Connection, token_hash: bytes, application_id: int, now: datetime) -> bool:
    """Revoke a token of this application. False if it has no valid token with this hash."""
    return await db.fetchval(REVOKE, token_hash, application_id, now) is not None


async def holds_token(db: Connection, account_id: int, application_id: int, scopes: tuple[str, ...]) -> bool:
    """True if a user has a valid token of this application with these scopes."""
    return await db.fetchval(HOLDS, account_id, application_id, scopes)


async def authorized(db: Connection, account_id: int, limit: int) -> list[AuthorizedApplication]:
    """Return the applications that a user has allowed, the newest first."""
    rows = await db.fetch(AUTHORIZED, account_id, limit)
    return [AuthorizedApplication(**replaced(row, scopes=tuple(row["scopes"]))) for row in rows]


async def revoke_application(db: Connection, account_id: int, application_id: int, now: datetime) -> list[bytes]:
    """Revoke all tokens that a user has allowed an application. Return their hashes.

    Codes are deleted first: a code that is exchanged at this moment has made its token when its row is free.
    """
    await db.execute(DELETE_GRANTS_OF, account_id, application_id)
    return [row["token_hash"] for row in await db.fetch(REVOKE_OF, account_id, application_id, now)]


async def valid_tokens(db: Connection, account_id: int, limit: int) -> list[ValidToken]:
    """Return the valid tokens of a user, the newest first."""
    rows = await db.fetch(VALID, account_id, limit)
    return [ValidToken(**replaced(row, scopes=tuple(row["scopes"]))) for row in rows]


async def revoke_one(db: Connection, account_id: int, id: int, now: datetime) -> bool:
    """Revoke a token of a user. False if the user has no valid token with this id."""
    return await db.fetchval(REVOKE_ONE, account_id, id, now) is not None


def _application(row: Row | None) -> Application | None:
    if row is None:
        return None
    return Application(**replaced(row, redirect_uris=tuple(row["redirect_uris"]), scopes=tuple(row["scopes"])))


def _grant(row: Row | None) -> Grant | None:
    return Grant(**replaced(row, scopes=tuple(row["scopes"]))) if row is not None else None

"""Rows whose time is over: codes, sessions, links and tokens, applications that nobody used, sign-ups never confirmed.

Each function deletes one batch. Rows that another transaction holds are skipped: they are in use.
"""

from collections.abc import Collection
from datetime import datetime

from .engine.database import Connection

DELETE_GRANTS = """
    DELETE FROM oauth_grants WHERE code_hash = ANY(ARRAY(
        SELECT code_hash FROM oauth_grants WHERE expires_at <= $1
        ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING code_hash
"""

DELETE_SESSIONS = """
    DELETE FROM web_sessions WHERE token_hash = ANY(ARRAY(
        SELECT token_hash FROM web_sessions WHERE expires_at <= $1
        ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING token_hash
"""

DELETE_CONFIRMATIONS = """
    DELETE FROM confirmations WHERE token_hash = ANY(ARRAY(
        SELECT token_hash FROM confirmations WHERE expires_at <= $1
        ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING token_hash
"""

DELETE_REVOKED_TOKENS = """
    DELETE FROM access_tokens WHERE id = ANY(ARRAY(
        SELECT id FROM access_tokens WHERE revoked_at <= $1 ORDER BY revoked_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING token_hash
"""

DELETE_APPLICATION_TOKENS = """
    DELETE FROM access_tokens WHERE id = ANY(ARRAY(
        SELECT id FROM access_tokens
        WHERE account_id IS NULL
        AND CASE WHEN last_used_at IS NULL THEN created_at <= $2 ELSE last_used_at <= $1 END
        ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
    )) RETURNING token_hash
"""

NOTE_USE = "UPDATE access_tokens SET last_used_at = $2 WHERE id = ANY($1::bigint[])"

# One statement decides between this and a confirmation, or a moderator's approval, that comes at the same moment: a row
# that has changed meanwhile is looked at again before it is locked. Accounts that an operator made have neither an
# address that they signed up from nor an application, and were approved by that; in open registration approval comes
# with the sign-up itself.
DELETE_SIGN_UPS = """
    WITH forgotten AS (
        SELECT u.account_id FROM users u
        WHERE u.confirmed_at IS NULL AND u.created_at <= $1
        AND (u.sign_up_ip IS NOT NULL OR u.created_by_application_id IS NOT NULL)
        AND (u.approved_at IS NULL OR u.approved_at = u.created_at)
        AND (u.created_at <= $2 OR NOT EXISTS (
            SELECT FROM confirmations c WHERE c.account_id = u.account_id AND c.email = u.email AND c.expires_at > $3
        ))
        ORDER BY u.created_at LIMIT $4
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM accounts a USING forgotten WHERE a.id = forgotten.account_id RETURNING a.id
"""

_UNUSED = """
    NOT EXISTS (SELECT FROM access_tokens t WHERE t.application_id = app.id)
    AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.application_id = app.id)
    AND NOT EXISTS (SELECT FROM users u WHERE u.created_by_application_id = app.id)
    AND NOT EXISTS (SELECT FROM statuses s WHERE s.application_id = app.id)
    AND NOT EXISTS (SELECT FROM scheduled_statuses s WHERE s.application_id = app.id)
"""

LOCK_APPLICATIONS = f"""
    SELECT app.id FROM applications app WHERE app.created_at <= $1 AND {_UNUSED}
    ORDER BY app.id LIMIT $2 FOR UPDATE SKIP LOCKED
"""

DELETE_APPLICATIONS = f"DELETE FROM applications app WHERE app.id = ANY($1::bigint[]) AND {_UNUSED} RETURNING app.id"


async def delete_grants(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete codes that expired before; their hashes."""
    return [row["code_hash"] for row in await db.fetch(DELETE_GRANTS, before, limit)]


async def delete_sessions(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete browsers' sessions that expired before; their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_SESSIONS, before, limit)]


async def delete_confirmations(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete links of mails that expired before; their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_CONFIRMATIONS, before, limit)]


async def delete_revoked_tokens(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete tokens that were revoked before; their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_REVOKED_TOKENS, before, limit)]


async def delete_application_tokens(
    db: Connection, used_before: datetime, made_before: datetime, limit: int
) -> list[bytes]:
    """Delete applications' own tokens that were used last, or made and never used, before; their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_APPLICATION_TOKENS, used_before, made_before, limit)]


async def note_use(db: Connection, token_ids: Collection[int], now: datetime) -> None:
    """Note when tokens were used."""
    await db.execute(NOTE_USE, list(token_ids), now)


async def delete_sign_ups(db: Connection, before: datetime, anyhow: datetime, now: datetime, limit: int) -> list[int]:
    """Delete accounts that were made before and whose address was never confirmed, with all that belongs to them.

    Those with a link that is still good are kept, unless they were made before `anyhow`. Returns the accounts' ids.
    """
    return [row["id"] for row in await db.fetch(DELETE_SIGN_UPS, before, anyhow, now, limit)]


async def delete_applications(db: Connection, before: datetime, limit: int) -> list[int]:
    """Delete applications that were registered before and have nothing; their ids.

    They are locked first. A token or a code that is issued meanwhile waits for the lock; one that was committed just
    before is seen by the second statement, and by the first one it need not have been.
    """
    ids = [row["id"] for row in await db.fetch(LOCK_APPLICATIONS, before, limit)]
    return [row["id"] for row in await db.fetch(DELETE_APPLICATIONS, ids)] if ids else []

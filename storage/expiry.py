"""Expired rows: codes, sessions, links and tokens, dead letters, ends of suggestions, unused
applications, unconfirmed sign-ups, and statuses that were deleted long ago.

Each function deletes one batch. Rows that another transaction holds are skipped: they are in use.
"""

from collections.abc import Collection
from datetime import date, datetime

from .engine.database import Connection


# ARRAY has the rows chosen and locked once, before the deletion. Rows that a request uses at this moment are not waited
# for: the next sweep deletes them.
def _older(table: str, key: str, time: str, returning: str) -> str:
    """Return the statement that deletes at most $2 rows whose column `time` is at or before $1, the oldest first."""
    return f"""
        DELETE FROM {table} WHERE {key} = ANY(ARRAY(
            SELECT {key} FROM {table} WHERE {time} <= $1 ORDER BY {time} LIMIT $2 FOR UPDATE SKIP LOCKED
        )) RETURNING {returning}
    """


DELETE_GRANTS = _older("oauth_grants", "code_hash", "expires_at", "code_hash")

DELETE_SESSIONS = _older("web_sessions", "token_hash", "expires_at", "token_hash")

DELETE_CONFIRMATIONS = _older("confirmations", "token_hash", "expires_at", "token_hash")

DELETE_RESETS = _older("password_resets", "token_hash", "expires_at", "token_hash")

DELETE_CHALLENGES = _older("sign_in_challenges", "token_hash", "expires_at", "token_hash")

DELETE_STRIKE_LINKS = _older("strike_links", "token_hash", "expires_at", "token_hash")

DELETE_IMPORTS = _older("imports", "id", "finished_at", "id")

DELETE_NETWORK_BLOCKS = _older("blocked_networks", "id", "expires_at", "id")

DELETE_VISITS = _older("visits", "ctid", "day", "account_id")

DELETE_EMAIL_ATTEMPTS = _older("email_domain_attempts", "ctid", "day", "block_id")

DELETE_RECEIVED = _older("received_activities", "digest", "received_at", "digest")

DELETE_KEYS = _older("actor_keys", "key_id", "fetched_at", "key_id")

DELETE_TOMBSTONES = _older("tombstones", "uri", "expires_at", "uri")

DELETE_DEAD_LETTERS = _older("dead_letters", "id", "id", "id")  # ids sort by time

DELETE_ENDED_SUGGESTIONS = _older("ended_suggestions", "ctid", "up_to", "account_id")

DELETE_REVOKED_TOKENS = _older("access_tokens", "id", "revoked_at", "token_hash")

DELETE_APPLICATION_TOKENS = """
    DELETE FROM access_tokens WHERE id = ANY(ARRAY(
        SELECT id FROM access_tokens
        WHERE account_id IS NULL
        AND CASE WHEN last_used_at IS NULL THEN created_at <= $2 ELSE last_used_at <= $1 END
        ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
    )) RETURNING token_hash
"""

NOTE_USE = "UPDATE access_tokens SET last_used_at = $2 WHERE id = ANY($1::bigint[])"

# One statement, because a confirmation or a moderator's approval may commit at the same moment: PostgreSQL checks a row
# that has changed meanwhile again before it locks it. Accounts that an operator made are left out: they have neither a
# sign-up address nor an application. With open registration an account is approved when it is made, so `approved_at`
# equals `created_at`.
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

# A status stays while an open report names it, or a boost of it, which would go with it.
_REPORTED = """
    (
        EXISTS (SELECT FROM reports r WHERE r.action_taken_at IS NULL AND r.status_ids @> ARRAY[s.id])
        OR EXISTS (
            SELECT FROM statuses boost JOIN reports r ON r.status_ids @> ARRAY[boost.id]
            WHERE boost.reblog_of_id = s.id AND r.action_taken_at IS NULL
        )
    )
"""

# Their media were taken from them when they were deleted, and are deleted by the rules for media.
DELETE_STATUSES = f"""
    WITH gone AS (
        DELETE FROM statuses WHERE id = ANY(ARRAY(
            SELECT s.id FROM statuses s WHERE s.deleted_at <= $1 AND NOT {_REPORTED}
            ORDER BY s.deleted_at LIMIT $2 FOR UPDATE OF s SKIP LOCKED
        )) RETURNING id, poll_id
    ), asked AS (
        DELETE FROM polls WHERE id = ANY(ARRAY(SELECT poll_id FROM gone WHERE poll_id IS NOT NULL))
    )
    SELECT id FROM gone
"""

COUNT_STATUSES = f"""
    SELECT count(*) FILTER (WHERE NOT {_REPORTED}) AS erasable, count(*) FILTER (WHERE {_REPORTED}) AS reported
    FROM statuses s WHERE s.deleted_at <= $1
"""

# What is known of other servers is kept while there are accounts of them, or something has come of late.
DELETE_HOSTS = """
    DELETE FROM hosts WHERE host = ANY(ARRAY(
        SELECT h.host FROM hosts h
        WHERE h.created_at <= $1 AND coalesce(h.delivered_at <= $1, true) AND coalesce(h.heard_at <= $1, true)
        AND NOT EXISTS (SELECT FROM accounts a WHERE a.domain = h.host)
        ORDER BY h.created_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING host
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
    """Delete codes that expired at `before` or earlier. Return their hashes."""
    return [row["code_hash"] for row in await db.fetch(DELETE_GRANTS, before, limit)]


async def delete_sessions(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete browsers' sessions that expired at `before` or earlier. Return their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_SESSIONS, before, limit)]


async def delete_confirmations(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete links of mails that expired at `before` or earlier. Return their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_CONFIRMATIONS, before, limit)]


async def delete_resets(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete links to set a password that expired at `before` or earlier. Return their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_RESETS, before, limit)]


async def delete_challenges(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete sign-ins that waited for a code until `before` or earlier. Return their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_CHALLENGES, before, limit)]


async def delete_strike_links(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete links to strikes that are not valid any more. Return their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_STRIKE_LINKS, before, limit)]


async def delete_imports(db: Connection, before: datetime, limit: int) -> list[int]:
    """Delete imports that were finished at `before` or earlier, with their lines. Return their ids."""
    return [row["id"] for row in await db.fetch(DELETE_IMPORTS, before, limit)]


async def delete_network_blocks(db: Connection, now: datetime, limit: int) -> list[int]:
    """Delete blocks of networks that have ended."""
    return [row["id"] for row in await db.fetch(DELETE_NETWORK_BLOCKS, now, limit)]


async def delete_visits(db: Connection, day: date, limit: int) -> list[int]:
    """Delete from which addresses users came, up to a day."""
    return [row["account_id"] for row in await db.fetch(DELETE_VISITS, day, limit)]


async def delete_email_attempts(db: Connection, day: date, limit: int) -> list[int]:
    """Delete counts of attempts to sign up, up to a day."""
    return [row["block_id"] for row in await db.fetch(DELETE_EMAIL_ATTEMPTS, day, limit)]


async def delete_dead_letters(db: Connection, up_to: int, limit: int) -> list[int]:
    """Delete dead letters with the id `up_to` or a lower one. Return their ids."""
    return [row["id"] for row in await db.fetch(DELETE_DEAD_LETTERS, up_to, limit)]


async def delete_received_activities(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Forget activities that were received at this time or before. Return their digests."""
    return [row["digest"] for row in await db.fetch(DELETE_RECEIVED, before, limit)]


async def delete_actor_keys(db: Connection, before: datetime, limit: int) -> list[str]:
    """Forget keys of other servers that were fetched at this time or before. Return their ids."""
    return [row["key_id"] for row in await db.fetch(DELETE_KEYS, before, limit)]


async def delete_tombstones(db: Connection, now: datetime, limit: int) -> list[str]:
    """Forget undone activities whose time is over. Return their URIs."""
    return [row["uri"] for row in await db.fetch(DELETE_TOMBSTONES, now, limit)]


async def delete_ended_suggestions(db: Connection, up_to: int, limit: int) -> list[int]:
    """Delete the ends of suggestions at this id or below. Return the accounts that were given the suggestions."""
    return [row["account_id"] for row in await db.fetch(DELETE_ENDED_SUGGESTIONS, up_to, limit)]


async def delete_revoked_tokens(db: Connection, before: datetime, limit: int) -> list[bytes]:
    """Delete tokens that were revoked at `before` or earlier. Return their hashes."""
    return [row["token_hash"] for row in await db.fetch(DELETE_REVOKED_TOKENS, before, limit)]


async def delete_application_tokens(
    db: Connection, used_before: datetime, made_before: datetime, limit: int
) -> list[bytes]:
    """Delete applications' own tokens. Return their hashes.

    Deleted are tokens last used at `used_before` or earlier, and unused ones made at `made_before` or earlier.
    """
    return [row["token_hash"] for row in await db.fetch(DELETE_APPLICATION_TOKENS, used_before, made_before, limit)]


async def note_use(db: Connection, token_ids: Collection[int], now: datetime) -> None:
    """Note when tokens were used."""
    await db.execute(NOTE_USE, list(token_ids), now)


async def delete_sign_ups(db: Connection, before: datetime, anyhow: datetime, now: datetime, limit: int) -> list[int]:
    """Delete accounts made at `before` or earlier whose address was never confirmed. Return their ids.

    An account with a link that is still valid is kept, unless it was made at `anyhow` or earlier.
    """
    return [row["id"] for row in await db.fetch(DELETE_SIGN_UPS, before, anyhow, now, limit)]


async def delete_statuses(db: Connection, before: datetime, limit: int) -> list[int]:
    """Erase statuses that were deleted at `before` or earlier and that no open report names. Return their ids."""
    return [row["id"] for row in await db.fetch(DELETE_STATUSES, before, limit)]


async def delete_hosts(db: Connection, before: datetime, limit: int) -> list[str]:
    """Forget other servers without accounts here, of which nothing was heard since. Return their hosts."""
    return [row["host"] for row in await db.fetch(DELETE_HOSTS, before, limit)]


async def count_statuses(db: Connection, before: datetime) -> tuple[int, int]:
    """Return how many statuses that were deleted at `before` or earlier can be erased, and how many reports keep."""
    row = await db.fetchrow(COUNT_STATUSES, before)
    return (0, 0) if row is None else (row["erasable"], row["reported"])


async def delete_applications(db: Connection, before: datetime, limit: int) -> list[int]:
    """Delete unused applications that were registered at `before` or earlier. Return their ids.

    They are locked first. A token or a code that is issued meanwhile waits for the lock. The first statement may miss
    one that was committed just before the lock, but the second one sees it.
    """
    ids = [row["id"] for row in await db.fetch(LOCK_APPLICATIONS, before, limit)]
    return [row["id"] for row in await db.fetch(DELETE_APPLICATIONS, ids)] if ids else []

"""The statements that delete expired rows: codes, sessions, links and tokens, dead letters, unused applications,
unconfirmed sign-ups, statuses that were deleted long ago, and others.

`actors/housekeeping/expiry.py` says which age each kind has, and why. Rows that another transaction holds are skipped:
they are in use, and the next sweep deletes them.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from ..engine.database import Connection


@dataclass(frozen=True, slots=True)
class BatchDeletion:
    """A statement that deletes a batch of rows of a kind, and returns a column that identifies each row.

    Its parameters are bounds (times, days or ids), and the greatest number of rows. With `lock`, that
    statement has these parameters: it locks rows and returns their ids, which are then the parameter of `statement`.
    """

    statement: str
    lock: str | None = None

    async def run(self, db: Connection, *bounds_and_limit: object) -> list[object]:
        """Delete a batch of rows. Return the column that the statement returns."""
        if self.lock is None:
            return await _column(db, self.statement, *bounds_and_limit)
        ids = await _column(db, self.lock, *bounds_and_limit)
        return await _column(db, self.statement, ids) if ids else []


async def _column(db: Connection, statement: str, *values: object) -> list[object]:
    return [value for row in await db.fetch(statement, *values) for value in row.values()]


# ARRAY has the rows chosen and locked once, before the deletion.
def _older(table: str, key: str, column: str, returning: str = "") -> BatchDeletion:
    """Return the deletion of rows whose `column`, a time, a day or an id, is at most the bound. The oldest go first."""
    return BatchDeletion(f"""
        DELETE FROM {table} WHERE {key} = ANY(ARRAY(
            SELECT {key} FROM {table} WHERE {column} <= $1 ORDER BY {column} LIMIT $2 FOR UPDATE SKIP LOCKED
        )) RETURNING {returning or key}
    """)


GRANTS = _older("oauth_grants", "code_hash", "expires_at")
SESSIONS = _older("web_sessions", "token_hash", "expires_at")
CONFIRMATIONS = _older("confirmations", "token_hash", "expires_at")
RESETS = _older("password_resets", "token_hash", "expires_at")
CHALLENGES = _older("sign_in_challenges", "token_hash", "expires_at")
STRIKE_LINKS = _older("strike_links", "token_hash", "expires_at")
STREAM_LOG = _older("stream_log", "id", "id")
IMPORTS = _older("imports", "id", "finished_at")  # with their lines
NETWORK_BLOCKS = _older("blocked_networks", "id", "expires_at")
VISITS = _older("visits", "ctid", "day", "account_id")
EMAIL_ATTEMPTS = _older("email_domain_attempts", "ctid", "day", "block_id")
RECEIVED_ACTIVITIES = _older("received_activities", "digest", "received_at")
ACTOR_KEYS = _older("actor_keys", "key_id", "fetched_at")
TOMBSTONES = _older("tombstones", "ctid", "expires_at", "uri")
DEAD_LETTERS = _older("dead_letters", "id", "id")
ENDED_SUGGESTIONS = _older("ended_suggestions", "ctid", "up_to", "account_id")
REVOKED_TOKENS = _older("access_tokens", "id", "revoked_at", "token_hash")

# Applications' own tokens. The first bound is that of the last use, the second is of tokens that were never used.
APPLICATION_TOKENS = BatchDeletion("""
    DELETE FROM access_tokens WHERE id = ANY(ARRAY(
        SELECT id FROM access_tokens
        WHERE account_id IS NULL
        AND CASE WHEN last_used_at IS NULL THEN created_at <= $2 ELSE last_used_at <= $1 END
        ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
    )) RETURNING token_hash
""")

NOTE_USE = "UPDATE access_tokens SET last_used_at = $2 WHERE id = ANY($1::bigint[])"

# One statement, because a confirmation or a moderator's approval may commit at the same moment: PostgreSQL checks a row
# that has changed meanwhile again before it locks it. Accounts that an operator made are left out: they have neither a
# sign-up address nor an application. With open registration an account is approved when it is made, so `approved_at`
# equals `created_at`.
# The bounds are of accounts whose address was never confirmed, of those that go although a link is still valid, and of
# links.
SIGN_UPS = BatchDeletion("""
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
""")

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
STATUSES = BatchDeletion(f"""
    WITH gone AS (
        DELETE FROM statuses WHERE id = ANY(ARRAY(
            SELECT s.id FROM statuses s WHERE s.deleted_at <= $1 AND NOT {_REPORTED}
            ORDER BY s.deleted_at LIMIT $2 FOR UPDATE OF s SKIP LOCKED
        )) RETURNING id, poll_id
    ), asked AS (
        DELETE FROM polls WHERE id = ANY(ARRAY(SELECT poll_id FROM gone WHERE poll_id IS NOT NULL))
    )
    SELECT id FROM gone
""")

COUNT_STATUSES = f"""
    SELECT count(*) FILTER (WHERE NOT {_REPORTED}) AS erasable, count(*) FILTER (WHERE {_REPORTED}) AS reported
    FROM statuses s WHERE s.deleted_at <= $1
"""

# Facts about another server are kept while accounts of it exist, or something came from it recently.
HOSTS = BatchDeletion("""
    DELETE FROM hosts WHERE host = ANY(ARRAY(
        SELECT h.host FROM hosts h
        WHERE h.created_at <= $1 AND coalesce(h.delivered_at <= $1, true) AND coalesce(h.heard_at <= $1, true)
        AND NOT EXISTS (SELECT FROM accounts a WHERE a.domain = h.host)
        ORDER BY h.created_at LIMIT $2 FOR UPDATE SKIP LOCKED
    )) RETURNING host
""")

_UNUSED = """
    NOT EXISTS (SELECT FROM access_tokens t WHERE t.application_id = app.id)
    AND NOT EXISTS (SELECT FROM oauth_grants g WHERE g.application_id = app.id)
    AND NOT EXISTS (SELECT FROM users u WHERE u.created_by_application_id = app.id)
    AND NOT EXISTS (SELECT FROM statuses s WHERE s.application_id = app.id)
    AND NOT EXISTS (SELECT FROM scheduled_statuses s WHERE s.application_id = app.id)
"""

# They are locked first. A token or a code that is issued meanwhile waits for the lock. The first statement may miss one
# that was committed just before the lock, but the second sees it.
APPLICATIONS = BatchDeletion(
    f"DELETE FROM applications app WHERE app.id = ANY($1::bigint[]) AND {_UNUSED} RETURNING app.id",
    lock=f"""
        SELECT app.id FROM applications app WHERE app.created_at <= $1 AND {_UNUSED}
        ORDER BY app.id LIMIT $2 FOR UPDATE SKIP LOCKED
    """,
)


async def note_use(db: Connection, token_ids: Collection[int], now: datetime) -> None:
    """Note when tokens were used."""
    await db.execute(NOTE_USE, list(token_ids), now)


async def count_statuses(db: Connection, before: datetime) -> tuple[int, int]:
    """Return how many statuses that were deleted at `before` or earlier can be erased, and how many reports keep."""
    row = await db.fetchrow(COUNT_STATUSES, before)
    return (0, 0) if row is None else (row["erasable"], row["reported"])

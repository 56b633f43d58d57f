"""Two-factor authentication: the secret of the codes, recovery codes, and browsers that must still send a code.

Each code is accepted once. A row condition decides that, also for two requests with one code at the same time.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection

BEGIN = """
    INSERT INTO two_factor (account_id, secret, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (account_id) DO UPDATE SET secret = $2, created_at = $3 WHERE two_factor.enabled_at IS NULL
    RETURNING account_id
"""

FIND = """
    SELECT secret, enabled_at, created_at, (
        SELECT count(*) FROM recovery_codes r WHERE r.account_id = two_factor.account_id
    ) AS recovery_codes
    FROM two_factor WHERE account_id = $1
"""

IS_ENABLED = "SELECT EXISTS (SELECT FROM two_factor WHERE account_id = $1 AND enabled_at IS NOT NULL)"

ENABLE = """
    UPDATE two_factor SET enabled_at = $4, last_step = $3
    WHERE account_id = $1 AND secret = $2 AND enabled_at IS NULL RETURNING account_id
"""

USE_STEP = """
    UPDATE two_factor SET last_step = $2
    WHERE account_id = $1 AND enabled_at IS NOT NULL AND last_step < $2 RETURNING account_id
"""

USE_RECOVERY_CODE = "DELETE FROM recovery_codes WHERE account_id = $1 AND code_hash = $2 RETURNING account_id"

# Locked, so that after two requests at the same time the codes of the later request count.
LOCK_ENABLED = "SELECT account_id FROM two_factor WHERE account_id = $1 AND enabled_at IS NOT NULL FOR UPDATE"

DELETE_RECOVERY_CODES = "DELETE FROM recovery_codes WHERE account_id = $1"

INSERT_RECOVERY_CODES = "INSERT INTO recovery_codes (account_id, code_hash) SELECT $1, unnest($2::bytea[])"

DISABLE = "DELETE FROM two_factor WHERE account_id = $1 RETURNING enabled_at"

# As for sessions, only if the password that was checked is still valid: a change of it ends all challenges.
INSERT_CHALLENGE = """
    INSERT INTO sign_in_challenges (token_hash, account_id, created_at, expires_at)
    SELECT $1, $2, $3, $4 FROM users WHERE account_id = $2 AND password_hash = $5 FOR SHARE
    RETURNING account_id
"""

FIND_CHALLENGE = "SELECT account_id FROM sign_in_challenges WHERE token_hash = $1 AND expires_at > $2 AND tries < $3"

COUNT_TRY = """
    UPDATE sign_in_challenges SET tries = tries + 1 WHERE token_hash = $1 AND expires_at > $2 AND tries < $3
    RETURNING account_id
"""

DELETE_CHALLENGE = "DELETE FROM sign_in_challenges WHERE token_hash = $1 RETURNING account_id"

# Wrong codes that a browser may send before it has to send the password again.
MOST_TRIES = 5


@dataclass(frozen=True, slots=True)
class TwoFactor:
    """The two-factor authentication of an account. Without `enabled_at` it is being set up."""

    secret: str
    enabled_at: datetime | None
    created_at: datetime
    recovery_codes: int


async def begin(db: Connection, account_id: int, secret: str, now: datetime) -> bool:
    """Store a secret that is to be confirmed by a code. False if two-factor authentication is on already."""
    return await db.fetchval(BEGIN, account_id, secret, now) is not None


async def find(db: Connection, account_id: int) -> TwoFactor | None:
    row = await db.fetchrow(FIND, account_id)
    return TwoFactor(**row) if row is not None else None


async def is_enabled(db: Connection, account_id: int) -> bool:
    """True if the account's password alone does not sign in."""
    return await db.fetchval(IS_ENABLED, account_id)


async def enable(
    db: Connection, account_id: int, secret: str, step: int, code_hashes: Collection[bytes], now: datetime
) -> bool:
    """Turn it on with this secret, of which the code of `step` was seen. False if it was on, or the secret is old."""
    if await db.fetchval(ENABLE, account_id, secret, step, now) is None:
        return False
    return await replace_recovery_codes(db, account_id, code_hashes)


async def use_step(db: Connection, account_id: int, step: int) -> bool:
    """Accept the code of a step of 30 seconds. False if the code of this or a later step was accepted before."""
    return await db.fetchval(USE_STEP, account_id, step) is not None


async def use_recovery_code(db: Connection, account_id: int, code_hash: bytes) -> bool:
    """Use a recovery code up. False if it is used or unknown."""
    return await db.fetchval(USE_RECOVERY_CODE, account_id, code_hash) is not None


async def replace_recovery_codes(db: Connection, account_id: int, code_hashes: Collection[bytes]) -> bool:
    """Give an account new recovery codes. Earlier codes become invalid. False if two-factor authentication is off."""
    if await db.fetchval(LOCK_ENABLED, account_id) is None:
        return False
    await db.execute(DELETE_RECOVERY_CODES, account_id)
    await db.execute(INSERT_RECOVERY_CODES, account_id, list(code_hashes))
    return True


async def disable(db: Connection, account_id: int) -> bool:
    """Turn it off, and delete the secret and the recovery codes. False if it was not on."""
    return await db.fetchval(DISABLE, account_id) is not None


async def insert_challenge(
    db: Connection, token_hash: bytes, account_id: int, password_hash: str, now: datetime, expires_at: datetime
) -> bool:
    """Store that a browser has sent the right password, and must still send a code.

    False if the user's password no longer has this hash.
    """
    made = await db.fetchval(INSERT_CHALLENGE, token_hash, account_id, now, expires_at, password_hash)
    return made is not None


async def find_challenge(db: Connection, token_hash: bytes, now: datetime) -> int | None:
    """Return the account for which a browser must send a code."""
    return await db.fetchval(FIND_CHALLENGE, token_hash, now, MOST_TRIES)


async def count_try(db: Connection, token_hash: bytes, now: datetime) -> int | None:
    """Count a code that a browser sends, before it is checked. Return the account; None after too many tries."""
    return await db.fetchval(COUNT_TRY, token_hash, now, MOST_TRIES)


async def delete_challenge(db: Connection, token_hash: bytes) -> bool:
    """End a challenge. False if it was ended, for example by a change of the password."""
    return await db.fetchval(DELETE_CHALLENGE, token_hash) is not None

"""Passwords: changing them, and the links with which users set a new password after they forgot theirs."""

from datetime import datetime

from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .users import MailedLink

# Only if the password that was checked is still valid: of two changes at the same time one is refused. A new address
# that waits for its link may be of a thief of the old password, so it is forgotten.
CHANGE = """
    UPDATE users SET password_hash = $3, new_email = NULL
    WHERE account_id = $1 AND password_hash = $2 RETURNING account_id
"""

SET = "UPDATE users SET password_hash = $2, new_email = NULL WHERE account_id = $1"

# Locked against changes, and only against them: several may hold it.
HOLD = "SELECT password_hash FROM users WHERE account_id = $1 FOR SHARE"

INSERT_RESET = Statement(insert_into("password_resets", "token_hash, account_id, email, created_at, expires_at"))

FIND_RESET = """
    SELECT r.account_id FROM password_resets r JOIN users u ON u.account_id = r.account_id AND u.email = r.email
    WHERE r.token_hash = $1 AND r.expires_at > $2
"""

# Of two requests with one link, the second waits for the first, and then finds the row deleted.
USE_RESET = """
    DELETE FROM password_resets r USING users u
    WHERE r.token_hash = $1 AND r.expires_at > $2 AND r.account_id = $3
    AND u.account_id = r.account_id AND u.email = r.email
    RETURNING r.account_id
"""

DELETE_RESETS = "DELETE FROM password_resets WHERE account_id = $1"


async def change(db: Connection, account_id: int, old_hash: str, new_hash: str) -> bool:
    """Store a new password. False if the old password was changed meanwhile.

    Links that set a new password, and a link that confirms a new e-mail address, become invalid.
    """
    changed = await db.fetchval(CHANGE, account_id, old_hash, new_hash) is not None
    if changed:
        await db.execute(DELETE_RESETS, account_id)
    return changed


async def hold(db: Connection, account_id: int) -> str | None:
    """Return the hash of a password, which can't be changed before the transaction ends."""
    return await db.fetchval(HOLD, account_id)


async def replace(db: Connection, account_id: int, new_hash: str) -> None:
    """Store a new password. The old password is not asked for. Links of mails become invalid."""
    await db.execute(SET, account_id, new_hash)
    await db.execute(DELETE_RESETS, account_id)


async def insert_reset(db: Connection, new: MailedLink) -> None:
    """Store a link."""
    await db.execute(*INSERT_RESET.bind(new))


async def find_reset(db: Connection, token_hash: bytes, now: datetime) -> int | None:
    """Return the account whose password a link sets. None if the link is used or not valid."""
    return await db.fetchval(FIND_RESET, token_hash, now)


async def use_reset(db: Connection, account_id: int, token_hash: bytes, new_hash: str, now: datetime) -> bool:
    """Use a link up and store the new password, as `change` does. False if the link is used or not valid."""
    if await db.fetchval(USE_RESET, token_hash, now, account_id) is None:
        return False
    await db.execute(SET, account_id, new_hash)
    await db.execute(DELETE_RESETS, account_id)
    return True

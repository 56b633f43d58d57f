"""Changes of a user's e-mail address. The new address waits in the user's row until its link is opened."""

from datetime import datetime

from .engine.database import Connection
from .engine.statement_errors import UniqueViolationError
from .registration import Taken

BEGIN = "UPDATE users SET new_email = $2 WHERE account_id = $1"

FIND = """
    SELECT c.account_id FROM confirmations c JOIN users u ON u.account_id = c.account_id AND u.new_email = c.email
    WHERE c.token_hash = $1 AND c.expires_at > $2
"""

# One statement: of two requests with one link, the second finds no new address.
CONFIRM = """
    UPDATE users u SET email = u.new_email, new_email = NULL FROM confirmations c
    WHERE u.account_id = $1 AND c.account_id = u.account_id AND c.token_hash = $2 AND c.expires_at > $3
    AND c.email = u.new_email
    RETURNING u.account_id
"""

DELETE_LINKS = "DELETE FROM confirmations WHERE account_id = $1"


async def begin(db: Connection, account_id: int, email: str) -> None:
    """Store the address that a user wants to have. It replaces another address that waits."""
    await db.execute(BEGIN, account_id, email)


async def find(db: Connection, token_hash: bytes, now: datetime) -> int | None:
    """Return the account whose new address a link confirms. None if the link is not valid, or was used."""
    return await db.fetchval(FIND, token_hash, now)


async def confirm(db: Connection, account_id: int, token_hash: bytes, now: datetime) -> bool:
    """Give the user the new address. False if the link is not valid. Raises Taken; then roll the transaction back.

    All other links that were sent to the user become invalid: links that set a password are for one address.
    """
    try:
        if await db.fetchval(CONFIRM, account_id, token_hash, now) is None:
            return False
    except UniqueViolationError:
        raise Taken("email") from None
    await db.execute(DELETE_LINKS, account_id)
    return True

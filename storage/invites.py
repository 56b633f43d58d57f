"""Invites: codes with which people sign up while sign-ups are closed or wait for approval."""

from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .engine.sql import Statement, insert_into

COLUMNS = "id, code, account_id, comment, max_uses, uses, created_at, expires_at"

FIND_ALL = f"SELECT {COLUMNS} FROM invites ORDER BY id"

INSERT = Statement(insert_into("invites", COLUMNS))

VALID = "(max_uses IS NULL OR uses < max_uses) AND (expires_at IS NULL OR expires_at > $2)"

IS_VALID = f"SELECT true FROM invites WHERE code = $1 AND {VALID}"

# Two sign-ups with the last use of an invite wait for each other here.
USE = f"UPDATE invites SET uses = uses + 1 WHERE code = $1 AND {VALID} RETURNING id"

EXPIRE = f"""
    UPDATE invites SET expires_at = $2 WHERE code = $1 AND (expires_at IS NULL OR expires_at > $2) RETURNING {COLUMNS}
"""


@dataclass(frozen=True, slots=True)
class Invite:
    """A code. `account_id` is the account that invites; None for the server."""

    id: int
    code: str
    account_id: int | None
    comment: str
    max_uses: int | None
    uses: int
    created_at: datetime
    expires_at: datetime | None

    def is_valid(self, now: datetime) -> bool:
        """True if people can sign up with it."""
        left = self.max_uses is None or self.uses < self.max_uses
        return left and (self.expires_at is None or self.expires_at > now)


async def find_all(db: Connection) -> list[Invite]:
    """Return all invites, the oldest first."""
    return [Invite(**row) for row in await db.fetch(FIND_ALL)]


async def insert(db: Connection, invite: Invite) -> None:
    await db.execute(*INSERT.bind(invite))


async def is_valid(db: Connection, code: str, now: datetime) -> bool:
    """True if people can sign up with a code. This holds only for the moment."""
    return await db.fetchval(IS_VALID, code, now) is not None


async def use(db: Connection, code: str, now: datetime) -> int | None:
    """Count a use of a code, and return the id of its invite. None if it is not valid."""
    return await db.fetchval(USE, code, now)


async def expire(db: Connection, code: str, now: datetime) -> Invite | None:
    """End an invite. None if the code does not exist or has ended."""
    row = await db.fetchrow(EXPIRE, code, now)
    return None if row is None else Invite(**row)

"""The states that staff put accounts in: disabled, silenced, sensitive, suspended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .engine.database import Connection

State = Literal["disable", "sensitive", "silence", "suspend"]

LOCK = """
    SELECT a.id, a.username, a.domain, u.role, u.disabled_at, a.sensitized_at, a.silenced_at, a.suspended_at
    FROM accounts a LEFT JOIN users u ON u.account_id = a.id
    WHERE a.id = $1 AND a.deleted_at IS NULL FOR UPDATE OF a
"""

# The row of the moderator is locked like the row of the target, lower id first: if two moderators act on each other,
# one of them waits.
# Only accounts: rows of users are locked after the rows of their accounts.
HOLD = "SELECT FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE"

SET: dict[State, str] = {
    "disable": "UPDATE users SET disabled_at = $2 WHERE account_id = $1",
    "sensitive": "UPDATE accounts SET sensitized_at = $2, updated_at = $3 WHERE id = $1",
    "silence": "UPDATE accounts SET silenced_at = $2, updated_at = $3 WHERE id = $1",
    "suspend": "UPDATE accounts SET suspended_at = $2, updated_at = $3 WHERE id = $1",
}

# Two acts that take away two owners at once must take turns, otherwise each would find the other owner.
TURN_OF_OWNERS = "SELECT pg_advisory_xact_lock(7461004)"

HAS_OTHER_OWNER = """
    SELECT EXISTS (
        SELECT FROM users u JOIN accounts a ON a.id = u.account_id
        WHERE u.role = 'owner' AND u.account_id <> $1 AND u.disabled_at IS NULL
        AND u.confirmed_at IS NOT NULL AND u.approved_at IS NOT NULL
        AND a.suspended_at IS NULL AND a.deleted_at IS NULL
    )
"""

ROLE = """
    SELECT u.role FROM users u JOIN accounts a ON a.id = u.account_id
    WHERE u.account_id = $1 AND u.disabled_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL FOR SHARE
"""

# An act of staff on the account, which locks its row, is before this or after it.
IS_SUSPENDED = "SELECT suspended_at IS NOT NULL FROM accounts WHERE id = $1 FOR KEY SHARE"


SET_ROLE = "UPDATE users SET role = $2 WHERE account_id = $1"


@dataclass(frozen=True, slots=True)
class ModeratedRow:
    """The states of an account, each with the time since when. Accounts of other servers have no role."""

    id: int
    username: str
    domain: str | None
    role: str | None
    disabled_at: datetime | None
    sensitized_at: datetime | None
    silenced_at: datetime | None
    suspended_at: datetime | None

    @property
    def acct(self) -> str:
        return self.username if self.domain is None else f"{self.username}@{self.domain}"

    def since(self, state: State) -> datetime | None:
        """Return when the account was put in a state. None if it is not in it."""
        match state:
            case "disable":
                return self.disabled_at
            case "sensitive":
                return self.sensitized_at
            case "silence":
                return self.silenced_at
            case "suspend":
                return self.suspended_at


async def lock(db: Connection, account_id: int, staff_id: int | None = None) -> ModeratedRow | None:
    """Return the states of an account, locked. None if there is none, or if it is deleted.

    The account of the staff who acts is locked too, so that it keeps its role.
    """
    if staff_id is not None and staff_id < account_id:
        await hold(db, [staff_id])
    row = await db.fetchrow(LOCK, account_id)
    if staff_id is not None and staff_id > account_id:
        await hold(db, [staff_id])
    return ModeratedRow(**row) if row is not None else None


async def hold(db: Connection, account_ids: Sequence[int]) -> None:
    """Keep other acts of staff from accounts until the end of the transaction."""
    await db.execute(HOLD, account_ids)


async def set_state(db: Connection, account_id: int, state: State, since: datetime | None, now: datetime) -> None:
    """Put an account in a state, or with None take it out."""
    times = (since,) if state == "disable" else (since, now)
    await db.execute(SET[state], account_id, *times)


async def role_of(db: Connection, account_id: int) -> str | None:
    """Return the role of a user who may sign in. It stays so until the end of the transaction."""
    return await db.fetchval(ROLE, account_id)


async def is_last_owner(db: Connection, account_id: int) -> bool:
    """True if no other owner could sign in without this account. It stays so until the end of the transaction."""
    if await db.fetchval("SELECT role FROM users WHERE account_id = $1", account_id) != "owner":
        return False
    await db.execute(TURN_OF_OWNERS)
    return not await db.fetchval(HAS_OTHER_OWNER, account_id)


async def is_suspended(db: Connection, account_id: int) -> bool:
    """True if an account is suspended. It stays as it is until the end of the transaction."""
    return bool(await db.fetchval(IS_SUSPENDED, account_id))


async def set_role(db: Connection, account_id: int, role: str) -> None:
    await db.execute(SET_ROLE, account_id, role)

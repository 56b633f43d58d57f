"""Lists: accounts that an owner reads together."""

from dataclasses import dataclass
from datetime import datetime

from .engine import Connection

# In the order of List's fields.
COLUMNS = "l.id, l.account_id, l.title, l.replies_policy, l.exclusive, l.created_at"

HOLDING = f"""
    SELECT {COLUMNS} FROM list_accounts held JOIN lists l ON l.id = held.list_id
    WHERE l.account_id = $1 AND held.account_id = $2 ORDER BY l.id
"""


@dataclass(frozen=True, slots=True)
class List:
    """One list; who is on it is read by page."""

    id: int
    account_id: int
    title: str
    replies_policy: str
    exclusive: bool
    created_at: datetime


async def holding(db: Connection, owner: int, account_id: int) -> list[List]:
    """The owner's lists that an account is on."""
    return [List(*row.values()) for row in await db.fetch(HOLDING, owner, account_id)]

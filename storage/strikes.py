"""Strikes: what staff decided about an account, and told its user."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .engine.sql import Statement, insert_into

INSERT = Statement(
    insert_into("strikes", "id, target_account_id, account_id, action, text, report_id, status_ids, created_at")
)


@dataclass(frozen=True, slots=True)
class NewStrike:
    """A strike when it is first stored. `account_id` is the moderator's; None for the command line."""

    id: int
    target_account_id: int
    account_id: int | None
    action: str
    text: str
    report_id: int | None = None
    status_ids: Sequence[int] | None = None


async def insert(db: Connection, new: NewStrike, now: datetime) -> None:
    await db.execute(*INSERT.bind(new, created_at=now))

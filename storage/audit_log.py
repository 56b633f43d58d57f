"""The record of what staff did: who did what to which account or other thing, when and why. Nothing deletes it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .engine.database import Connection
from .engine.sql import Statement, insert_into
from .paging import Page, both_ways

COLUMNS = "id, actor_id, actor, action, target_type, target_id, target, reason, details, created_at"

INSERT = Statement(insert_into("audit_log", COLUMNS))

PAGE = both_ways(f"""
    SELECT {COLUMNS} FROM audit_log WHERE id < $1 AND id > $2 ORDER BY id {{order}} LIMIT $3
""")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One act of staff. `actor_id` is None for the command line. Names are those of the time."""

    id: int
    actor_id: int | None
    actor: str
    action: str
    target_type: str
    target_id: int | None
    target: str
    created_at: datetime
    reason: str = ""
    details: dict[str, Any] = field(default_factory=dict[str, Any])  # what else the action needs, as JSON


async def insert(db: Connection, entry: AuditEntry) -> None:
    await db.execute(*INSERT.bind(entry))


async def page(db: Connection, page: Page) -> list[AuditEntry]:
    """Return entries, newest first."""
    rows = await db.fetch(PAGE[page.oldest_first], *page.bounds)
    entries = [AuditEntry(**row) for row in rows]
    return entries if not page.oldest_first else entries[::-1]

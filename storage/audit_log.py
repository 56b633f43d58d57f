"""The record of what staff did: who did what to which account or other thing, when and why. Nothing deletes it."""

from dataclasses import dataclass, field
from datetime import datetime

from .engine.database import Connection
from .engine.json_values import JsonObject
from .engine.sql import Statement, insert_into
from .upkeep.paging import Page

COLUMNS = "id, actor_id, actor, action, target_type, target_id, target, reason, details, created_at"

INSERT = Statement(insert_into("audit_log", COLUMNS))

PAGE = f"""
    SELECT {COLUMNS} FROM audit_log WHERE id < $1 AND id > $2 {{conditions}} ORDER BY id {{order}} LIMIT $3
"""


HIGHEST_TARGET = "SELECT max(target_id) FROM audit_log WHERE target_type = $1"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One act of staff. `actor_id` is None for the command line. Names are stored as they were then."""

    id: int
    actor_id: int | None
    actor: str
    action: str
    target_type: str
    target_id: int | None
    target: str
    created_at: datetime
    reason: str = ""
    details: JsonObject = field(default_factory=JsonObject)  # further facts about the action, as JSON


async def insert(db: Connection, entry: AuditEntry) -> None:
    await db.execute(*INSERT.bind(entry))


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The conditions for entries of a list. Each value that is given leaves out entries."""

    actor_id: int | None = None
    target_type: str | None = None
    target_id: int | None = None
    action: str | None = None
    account: str | None = None  # the name of the account that acted, or that the act was done to


async def page(db: Connection, wanted: AuditFilter, page: Page) -> list[AuditEntry]:
    """Return entries, newest first."""
    query, values = page_query(wanted, oldest_first=page.oldest_first)
    rows = await db.fetch(query, *page.bounds, *values)
    entries = [AuditEntry(**row) for row in rows]
    return entries if not page.oldest_first else entries[::-1]


def page_query(wanted: AuditFilter, *, oldest_first: bool = False) -> tuple[str, list[object]]:
    """Return the query of a filter, and the values of its parameters from $4 on."""
    conditions = {
        "actor_id = $": wanted.actor_id,
        "target_type = $": wanted.target_type,
        "target_id = $": wanted.target_id,
        "action = $": wanted.action,
        "actor = $ OR (target_type = 'account' AND target = $)": wanted.account,
    }
    given = {condition: value for condition, value in conditions.items() if value is not None}
    numbered = [condition.replace("$", f"${number}") for number, condition in enumerate(given, 4)]
    query = PAGE.format(
        conditions=" ".join(f"AND ({condition})" for condition in numbered), order="ASC" if oldest_first else "DESC"
    )
    return query, list(given.values())


async def highest_target(db: Connection, type: str) -> int:
    """Return the highest id of the things of a kind that acts were done to; 0 if there were none."""
    return await db.fetchval(HIGHEST_TARGET, type) or 0

"""Reports about accounts and their statuses, for staff."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .engine.database import Connection, Row, replaced
from .engine.sql import Statement, insert_into
from .upkeep.paging import Page, both_ways

Category = Literal["spam", "legal", "violation", "other"]

COLUMNS = """
    r.id, r.account_id, r.target_account_id, r.status_ids, r.rule_ids, r.category, r.comment, r.forwarded,
    r.assigned_account_id, r.action_taken_at, r.action_taken_by_account_id, r.created_at, r.updated_at
"""

# Until the transaction ends, no other report about the account is stored, and no act of staff changes its states.
LOCK_REPORTED = """
    SELECT id FROM accounts WHERE id = $1 AND suspended_at IS NULL AND deleted_at IS NULL FOR NO KEY UPDATE
"""

HAS_OPEN = "SELECT EXISTS (SELECT FROM reports WHERE target_account_id = $1 AND action_taken_at IS NULL)"

NEW_COLUMNS = """
    id, account_id, target_account_id, status_ids, rule_ids, category, comment, forwarded, uri, created_at,
    updated_at
"""

IS_KNOWN = "SELECT EXISTS (SELECT FROM reports WHERE uri = $1)"

COUNT_BY = "SELECT count(*) FROM (SELECT FROM reports WHERE account_id = $1 AND id > $2 LIMIT $3) AS counted"

IS_ABOUT = "SELECT EXISTS (SELECT FROM reports WHERE id = $1 AND target_account_id = $2)"

NAMES_STATUS = "SELECT EXISTS (SELECT FROM reports WHERE status_ids @> ARRAY[$1::bigint] AND action_taken_at IS NULL)"

INSERT = Statement(f"""
    {insert_into("reports AS r", NEW_COLUMNS, created_at=":now", updated_at=":now")} RETURNING {COLUMNS}
""")

FIND_MANY = f"SELECT {COLUMNS} FROM reports r WHERE r.id = ANY($1::bigint[])"

# Two members of staff who handle one report take turns.
LOCK = f"SELECT {COLUMNS} FROM reports r WHERE r.id = $1 FOR UPDATE"

# {conditions} come from the filter.
PAGE = f"""
    SELECT {COLUMNS} FROM reports r
    WHERE r.id < $1 AND r.id > $2 AND {{conditions}} ORDER BY r.id {{order}} LIMIT $3
"""

OPEN, RESOLVED = "r.action_taken_at IS NULL", "r.action_taken_at IS NOT NULL"

ASSIGN = f"UPDATE reports r SET assigned_account_id = $2, updated_at = $3 WHERE r.id = $1 RETURNING {COLUMNS}"

CLOSE = f"""
    UPDATE reports r SET action_taken_at = $3, action_taken_by_account_id = $2, updated_at = $3
    WHERE r.id = $1 RETURNING {COLUMNS}
"""

REOPEN = f"""
    UPDATE reports r SET action_taken_at = NULL, action_taken_by_account_id = NULL, updated_at = $2
    WHERE r.id = $1 RETURNING {COLUMNS}
"""

HIGHEST_RULE = "SELECT max(rule) FROM reports, unnest(rule_ids) rule"

CHANGE = f"UPDATE reports r SET category = $2, rule_ids = $3, updated_at = $4 WHERE r.id = $1 RETURNING {COLUMNS}"

RESOLVE_ABOUT = """
    UPDATE reports SET action_taken_at = $3, action_taken_by_account_id = $2, updated_at = $3
    WHERE target_account_id = $1 AND action_taken_at IS NULL RETURNING id
"""

RESOLVE = """
    UPDATE reports SET action_taken_at = $4, action_taken_by_account_id = $3, updated_at = $4
    WHERE id = $1 AND target_account_id = $2 AND action_taken_at IS NULL RETURNING id
"""

INSERT_NOTE = Statement(insert_into("report_notes", "id, report_id, account_id, content, created_at"))

NOTES = """
    SELECT id, report_id, account_id, content, created_at FROM report_notes WHERE report_id = $1 ORDER BY id LIMIT $2
"""


@dataclass(frozen=True, slots=True)
class NewReport:
    """A report when it is first stored. `rule_ids` are None if it names no rule."""

    id: int
    account_id: int
    target_account_id: int
    status_ids: tuple[int, ...]
    rule_ids: tuple[int, ...] | None
    category: Category
    comment: str
    forwarded: bool = False
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A report by `account_id`. It is open until an action is taken; `assigned_account_id` is the moderator's."""

    id: int
    account_id: int
    target_account_id: int
    status_ids: tuple[int, ...]
    rule_ids: tuple[int, ...] | None
    category: str
    comment: str
    forwarded: bool
    assigned_account_id: int | None
    action_taken_at: datetime | None
    action_taken_by_account_id: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ReportNote:
    """A note of staff on a report. `account_id` is None for the command line."""

    id: int
    report_id: int
    account_id: int | None
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """The requested reports: open or resolved, by an account, about an account."""

    resolved: bool = False
    account_id: int | None = None
    target_account_id: int | None = None


async def lock_reported(db: Connection, account_id: int) -> bool:
    """Lock an account that is to be reported. False if there is none, or if it is suspended or deleted."""
    return await db.fetchval(LOCK_REPORTED, account_id) is not None


async def is_known(db: Connection, uri: str) -> bool:
    """True if there is a report with this URI."""
    return await db.fetchval(IS_KNOWN, uri)


async def count_by(db: Connection, account_id: int, since_id: int, most: int) -> int:
    """Return how many reports an account has filed since an id was drawn, counted up to `most`."""
    return await db.fetchval(COUNT_BY, account_id, since_id, most)


async def has_open(db: Connection, target_account_id: int) -> bool:
    """True if there is an open report about an account."""
    return await db.fetchval(HAS_OPEN, target_account_id)


async def is_about(db: Connection, id: int, account_id: int) -> bool:
    """True if there is a report with this id, and it is about the account."""
    return await db.fetchval(IS_ABOUT, id, account_id)


async def names_status(db: Connection, status_id: int) -> bool:
    """True if an open report names a status."""
    return await db.fetchval(NAMES_STATUS, status_id)


async def insert(db: Connection, new: NewReport, now: datetime) -> Report:
    row = await db.fetchrow(*INSERT.bind(new, now=now))
    if row is None:
        raise LookupError(f"report {new.id} was stored and is not there")
    return _report(row)


async def find_many(db: Connection, ids: Sequence[int]) -> dict[int, Report]:
    """Return reports by id."""
    return {row["id"]: _report(row) for row in await db.fetch(FIND_MANY, ids)}


async def find(db: Connection, id: int) -> Report | None:
    return (await find_many(db, [id])).get(id)


async def lock(db: Connection, id: int) -> Report | None:
    """Return a report, locked until the transaction ends."""
    row = await db.fetchrow(LOCK, id)
    return _report(row) if row is not None else None


async def page(db: Connection, wanted: ReportFilter, page: Page) -> list[Report]:
    """Return a page of reports, newest first."""
    query, values = page_query(wanted)
    rows = await db.fetch(query[page.oldest_first], *page.bounds, *values)
    return sorted((_report(row) for row in rows), key=lambda report: report.id, reverse=True)


def page_query(wanted: ReportFilter) -> tuple[tuple[str, str], list[int]]:
    """Return the page query of a filter, both ways, and the values of its parameters from $4 on.

    Each combination is a statement of its own, so that its plan can use the index of the filter.
    """
    conditions, values = [RESOLVED if wanted.resolved else OPEN], list[int]()
    for column, value in (("account_id", wanted.account_id), ("target_account_id", wanted.target_account_id)):
        if value is not None:
            values.append(value)
            conditions.append(f"r.{column} = ${len(values) + 3}")
    return both_ways(PAGE.replace("{conditions}", " AND ".join(conditions))), values


async def assign(db: Connection, id: int, to: int | None, now: datetime) -> Report:
    """Assign a locked report to one of the staff, or with None to no account."""
    return _changed(await db.fetchrow(ASSIGN, id, to, now))


async def close(db: Connection, id: int, by: int | None, now: datetime) -> Report:
    """Resolve a locked report. `by` is None for the command line."""
    return _changed(await db.fetchrow(CLOSE, id, by, now))


async def reopen(db: Connection, id: int, now: datetime) -> Report:
    """Open a locked report again."""
    return _changed(await db.fetchrow(REOPEN, id, now))


async def change(db: Connection, id: int, category: str, rule_ids: Sequence[int] | None, now: datetime) -> Report:
    """Change what a locked report is about."""
    return _changed(await db.fetchrow(CHANGE, id, category, rule_ids, now))


async def highest_rule(db: Connection) -> int:
    """Return the highest id of a rule that any report names; 0 if none does."""
    return await db.fetchval(HIGHEST_RULE) or 0


async def resolve_about(db: Connection, account_id: int, by: int | None, now: datetime) -> list[int]:
    """Resolve all open reports about an account. Return their ids."""
    return [row["id"] for row in await db.fetch(RESOLVE_ABOUT, account_id, by, now)]


async def resolve(db: Connection, id: int | None, about: int, by: int | None, now: datetime) -> list[int]:
    """Resolve an open report about an account. Return its id, or nothing if there is no such report."""
    return [row["id"] for row in await db.fetch(RESOLVE, id, about, by, now)]


async def insert_note(db: Connection, note: ReportNote) -> None:
    """Store a note on a report."""
    await db.execute(*INSERT_NOTE.bind(note))


async def notes(db: Connection, report_id: int, limit: int) -> list[ReportNote]:
    """Return the notes on a report, oldest first."""
    return [ReportNote(**row) for row in await db.fetch(NOTES, report_id, limit)]


def _changed(row: Row | None) -> Report:
    if row is None:
        raise LookupError("a locked report is not there")
    return _report(row)


def _report(row: Row) -> Report:
    rule_ids = row["rule_ids"]
    rules = None if rule_ids is None else tuple(rule_ids)
    return Report(**replaced(row, status_ids=tuple(row["status_ids"]), rule_ids=rules))

"""Imports: the lines of an uploaded file, what became of each, and what an import that overwrites has to remove."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .engine.database import Connection
from .engine.json_values import JsonObject
from .engine.sql import Statement, quoted, rows_of

INSERT = "INSERT INTO imports (id, account_id, kind, overwrite, created_at) VALUES ($1, $2, $3, $4, $5)"

LINE_COLUMNS = {"number": "integer", "target": "text", "options": "jsonb"}

INSERT_LINES = Statement(f"""
    INSERT INTO import_lines (import_id, {quoted(LINE_COLUMNS)})
    SELECT :import_id::bigint, new.* FROM {rows_of(LINE_COLUMNS, "new")}
""")

IS_RUNNING = "SELECT EXISTS (SELECT FROM imports WHERE account_id = $1 AND finished_at IS NULL)"

FIND = "SELECT id, account_id, kind, overwrite, created_at, cleared_at, finished_at FROM imports WHERE id = $1"

LATEST = """
    SELECT i.id, i.kind, i.overwrite, i.created_at, i.finished_at, count(*) AS lines,
        count(*) FILTER (WHERE l.done) AS done, count(l.error) AS failed
    FROM (SELECT * FROM imports WHERE account_id = $1 ORDER BY id DESC LIMIT $2) AS i
    JOIN import_lines l ON l.import_id = i.id
    GROUP BY i.id, i.kind, i.overwrite, i.created_at, i.finished_at ORDER BY i.id DESC
"""

FAILURES = """
    SELECT l.number, l.target, l.error FROM import_lines l JOIN imports i ON i.id = l.import_id
    WHERE i.id = $1 AND i.account_id = $2 AND l.error IS NOT NULL ORDER BY l.number LIMIT $3
"""

WAITING = """
    SELECT number, target, options FROM import_lines WHERE import_id = $1 AND NOT done ORDER BY number LIMIT $2
"""

MARK_DONE = "UPDATE import_lines SET done = true, error = left($3, 500) WHERE import_id = $1 AND number = $2"

CLEARED = "UPDATE imports SET cleared_at = $2 WHERE id = $1"

FINISH = "UPDATE imports SET finished_at = $2 WHERE id = $1"

STATUS_OF = "SELECT id FROM statuses WHERE uri = $1 AND deleted_at IS NULL"

LIST_OF = "SELECT id FROM lists WHERE account_id = $1 AND title = $2 ORDER BY id LIMIT 1"

# True if the file has a line for a target.
HAS = "EXISTS (SELECT FROM import_lines l WHERE l.import_id = $2 AND md5(l.target) = md5({target}) {more})"
HANDLE = "lower(a.username || coalesce('@' || a.domain, ''))"

_ACCOUNTS = f"""
    SELECT r.target_account_id AS id FROM {{table}} r JOIN accounts a ON a.id = r.target_account_id
    WHERE r.account_id = $1 AND NOT {HAS.format(target=HANDLE, more="")} ORDER BY r.id LIMIT $3
"""

# What an account has of a kind and the file has not.
SURPLUS: Mapping[str, str] = {
    "following": _ACCOUNTS.format(table="follows"),
    "blocks": _ACCOUNTS.format(table="blocks"),
    "mutes": _ACCOUNTS.format(table="mutes"),
    "bookmarks": f"""
        SELECT b.status_id AS id FROM bookmarks b JOIN statuses s ON s.id = b.status_id
        WHERE b.account_id = $1 AND NOT {HAS.format(target="s.uri", more="")} ORDER BY b.id LIMIT $3
    """,
    "lists": """
        SELECT o.id FROM lists o WHERE o.account_id = $1 AND NOT EXISTS (
            SELECT FROM import_lines l WHERE l.import_id = $2 AND l.options->>'title' = o.title
        ) ORDER BY o.id LIMIT $3
    """,
}

SURPLUS_DOMAINS = f"""
    SELECT d.domain FROM account_domain_blocks d
    WHERE d.account_id = $1 AND NOT {HAS.format(target="d.domain", more="")} ORDER BY d.id LIMIT $3
"""

SURPLUS_MEMBERS = f"""
    SELECT la.list_id, la.account_id
    FROM lists o JOIN list_accounts la ON la.list_id = o.id JOIN accounts a ON a.id = la.account_id
    WHERE o.account_id = $1 AND NOT {HAS.format(target=HANDLE, more="AND l.options->>'title' = o.title")}
    ORDER BY la.id LIMIT $3
"""


@dataclass(frozen=True, slots=True)
class Import:
    """An uploaded file."""

    id: int
    account_id: int
    kind: str
    overwrite: bool
    created_at: datetime
    cleared_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A line of a file: the account, domain or status, and the terms that go with it."""

    number: int
    target: str
    options: JsonObject


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """The progress of an import."""

    id: int
    kind: str
    overwrite: bool
    created_at: datetime
    finished_at: datetime | None
    lines: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class FailedLine:
    """A line that had no effect, and why."""

    number: int
    target: str
    error: str


async def is_running(db: Connection, account_id: int) -> bool:
    """True if an import of the account is not finished."""
    return await db.fetchval(IS_RUNNING, account_id)


async def insert(
    db: Connection, id: int, account_id: int, kind: str, overwrite: bool, lines: Sequence[ImportLine], now: datetime
) -> None:
    """Store an import. A unique index refuses a second one that runs at the same time."""
    await db.execute(INSERT, id, account_id, kind, overwrite, now)
    await db.execute(*INSERT_LINES.bind_many(lines, import_id=id))


async def find(db: Connection, id: int) -> Import | None:
    row = await db.fetchrow(FIND, id)
    return Import(**row) if row is not None else None


async def latest(db: Connection, account_id: int, limit: int) -> list[ImportProgress]:
    """Return the last imports of an account, the newest first."""
    return [ImportProgress(**row) for row in await db.fetch(LATEST, account_id, limit)]


async def failures(db: Connection, id: int, account_id: int, limit: int) -> list[FailedLine]:
    """Return the first lines of an account's import that had no effect."""
    return [FailedLine(**row) for row in await db.fetch(FAILURES, id, account_id, limit)]


async def waiting(db: Connection, id: int, limit: int) -> list[ImportLine]:
    """Return the next lines to carry out."""
    return [ImportLine(**row) for row in await db.fetch(WAITING, id, limit)]


async def mark_done(db: Connection, id: int, number: int, error: str | None) -> None:
    """Note that a line was carried out, or why it had no effect."""
    await db.execute(MARK_DONE, id, number, error)


async def mark_cleared(db: Connection, id: int, now: datetime) -> None:
    """Note that everything was removed that is not in the file."""
    await db.execute(CLEARED, id, now)


async def finish(db: Connection, id: int, now: datetime) -> None:
    await db.execute(FINISH, id, now)


async def surplus(db: Connection, found: Import, limit: int) -> list[int]:
    """Return ids of what the account has and the file has not: of accounts, statuses or lists, by the import's kind."""
    return [row["id"] for row in await db.fetch(SURPLUS[found.kind], found.account_id, found.id, limit)]


async def surplus_domains(db: Connection, found: Import, limit: int) -> list[str]:
    """Return domains that the account blocks and the file has not."""
    return [row["domain"] for row in await db.fetch(SURPLUS_DOMAINS, found.account_id, found.id, limit)]


async def surplus_members(db: Connection, found: Import, limit: int) -> list[tuple[int, int]]:
    """Return members of the account's lists that the file has not, as (list id, account id)."""
    rows = await db.fetch(SURPLUS_MEMBERS, found.account_id, found.id, limit)
    return [(row["list_id"], row["account_id"]) for row in rows]


async def status_of(db: Connection, uri: str) -> int | None:
    """Return the status with a URI."""
    return await db.fetchval(STATUS_OF, uri)


async def list_of(db: Connection, account_id: int, title: str) -> int | None:
    """Return the oldest list of an account with a title."""
    return await db.fetchval(LIST_OF, account_id, title)

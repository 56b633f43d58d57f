"""Imports: the lines of an uploaded file, their outcomes, and the rows that an overwriting import has to remove."""

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

IS_RUNNING = "SELECT EXISTS (SELECT FROM imports WHERE account_id = $1 AND kind = $2 AND finished_at IS NULL)"

FIND = "SELECT id, account_id, kind, overwrite, created_at, cleared_at, finished_at FROM imports WHERE id = $1"

LATEST = """
    SELECT i.id, i.kind, i.overwrite, i.created_at, i.finished_at, count(*) AS lines,
        count(*) FILTER (WHERE l.done) AS done, count(*) FILTER (WHERE l.waits) AS waiting,
        count(*) FILTER (WHERE l.done AND l.error IS NOT NULL) AS failed
    FROM (SELECT * FROM imports WHERE account_id = $1 ORDER BY id DESC LIMIT $2) AS i
    JOIN import_lines l ON l.import_id = i.id
    GROUP BY i.id, i.kind, i.overwrite, i.created_at, i.finished_at ORDER BY i.id DESC
"""

FAILURES = """
    SELECT l.number, l.target, l.options, l.error, l.waits
    FROM import_lines l JOIN imports i ON i.id = l.import_id
    WHERE i.id = $1 AND i.account_id = $2 AND l.error IS NOT NULL AND l.number > $3 ORDER BY l.number LIMIT $4
"""

READY = """
    SELECT number, target, options, found_id FROM import_lines
    WHERE import_id = $1 AND NOT done AND NOT waits ORDER BY number LIMIT $2
"""

MARK_DONE = "UPDATE import_lines SET done = true, error = left($3, 500) WHERE import_id = $1 AND number = $2"

WAIT = "UPDATE import_lines SET waits = true WHERE import_id = $1 AND number = ANY($2::integer[])"

_WAITING = "import_id = $1 AND md5(target) = md5($2) AND target = $2 AND waits"

IS_WAITED_FOR = f"SELECT EXISTS (SELECT FROM import_lines WHERE {_WAITING})"

NOTE_TRY = f"UPDATE import_lines SET error = left($3, 500) WHERE {_WAITING}"

SET_FOUND = f"UPDATE import_lines SET waits = false, error = NULL, found_id = $3 WHERE {_WAITING}"

SET_UNFOUND = f"UPDATE import_lines SET waits = false, done = true, error = left($3, 500) WHERE {_WAITING}"

# `untried`: a line without any outcome yet. A line whose server did not answer was tried, and is tried again.
STANDING = """
    SELECT EXISTS (SELECT FROM import_lines WHERE import_id = $1 AND NOT done) AS open,
        EXISTS (SELECT FROM import_lines WHERE import_id = $1 AND NOT done AND error IS NULL) AS untried,
        EXISTS (SELECT FROM import_lines WHERE import_id = $1 AND done AND error IS NULL) AS effective
"""

TRY_AGAIN = """
    WITH opened AS (
        UPDATE imports SET finished_at = NULL WHERE id = $1 AND account_id = $2
        AND NOT EXISTS (
            SELECT FROM imports other WHERE other.account_id = $2 AND other.kind = imports.kind
            AND other.finished_at IS NULL AND other.id <> $1
        )
        RETURNING id
    ), retried AS (
        UPDATE import_lines l SET done = false, error = NULL, found_id = NULL FROM opened
        WHERE l.import_id = opened.id AND l.done AND l.error IS NOT NULL
    )
    SELECT id FROM opened
"""

STOP = """
    WITH stopped AS (
        UPDATE imports SET finished_at = $3 WHERE id = $1 AND account_id = $2 AND finished_at IS NULL RETURNING id
    )
    UPDATE import_lines l SET done = true, waits = false, error = left($4, 500) FROM stopped
    WHERE l.import_id = stopped.id AND NOT l.done
"""

CLEARED = "UPDATE imports SET cleared_at = $2 WHERE id = $1"

FINISH = "UPDATE imports SET finished_at = $2 WHERE id = $1"

STATUS_OF = "SELECT id FROM statuses WHERE uri = $1 AND deleted_at IS NULL"

LIST_OF = "SELECT id FROM lists WHERE account_id = $1 AND title = $2 ORDER BY id LIMIT 1"

# True if the file has a line for a target, or for another name by which the same id was found.
HAS = """(
    EXISTS (SELECT FROM import_lines l WHERE l.import_id = $2 AND md5(l.target) = md5({target}) {more})
    OR EXISTS (SELECT FROM import_lines l WHERE l.import_id = $2 AND l.found_id = {id} {more})
)"""
HANDLE = "lower(a.username || coalesce('@' || a.domain, ''))"

_ACCOUNTS = f"""
    SELECT r.target_account_id AS id FROM {{table}} r JOIN accounts a ON a.id = r.target_account_id
    WHERE r.account_id = $1 AND NOT {HAS.format(target=HANDLE, id="r.target_account_id", more="")}
    ORDER BY r.id LIMIT $3
"""

# The targets of a kind that an account has and the file does not name.
SURPLUS: Mapping[str, str] = {
    "following": _ACCOUNTS.format(table="follows"),
    "blocks": _ACCOUNTS.format(table="blocks"),
    "mutes": _ACCOUNTS.format(table="mutes"),
    "bookmarks": f"""
        SELECT b.status_id AS id FROM bookmarks b JOIN statuses s ON s.id = b.status_id
        WHERE b.account_id = $1 AND NOT {HAS.format(target="s.uri", id="b.status_id", more="")}
        ORDER BY b.id LIMIT $3
    """,
    "lists": """
        SELECT o.id FROM lists o WHERE o.account_id = $1 AND NOT EXISTS (
            SELECT FROM import_lines l WHERE l.import_id = $2 AND l.options->>'title' = o.title
        ) ORDER BY o.id LIMIT $3
    """,
}

SURPLUS_DOMAINS = """
    SELECT d.domain FROM account_domain_blocks d
    WHERE d.account_id = $1 AND NOT EXISTS (
        SELECT FROM import_lines l WHERE l.import_id = $2 AND md5(l.target) = md5(d.domain)
    ) ORDER BY d.id LIMIT $3
"""

MEMBER = HAS.format(target=HANDLE, id="la.account_id", more="AND l.options->>'title' = o.title")

# OFFSET keeps the members of each list a query of their own: PostgreSQL would read all memberships.
SURPLUS_MEMBERS = f"""
    SELECT la.list_id, la.account_id
    FROM lists o
    CROSS JOIN LATERAL (SELECT id, list_id, account_id FROM list_accounts WHERE list_id = o.id OFFSET 0) la
    JOIN accounts a ON a.id = la.account_id
    WHERE o.account_id = $1 AND NOT {MEMBER}
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
    """A line of a file: the account, domain or status, and the terms that go with it.

    `found_id` is the id of the account or status, if it was looked up at its server.
    """

    number: int
    target: str
    options: JsonObject
    found_id: int | None = None


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """The progress of an import. `waiting` lines are looked up at other servers."""

    id: int
    kind: str
    overwrite: bool
    created_at: datetime
    finished_at: datetime | None
    lines: int
    done: int
    waiting: int
    failed: int


@dataclass(frozen=True, slots=True)
class FailedLine:
    """A line that had no effect, and the reason. A waiting line is tried again later."""

    number: int
    target: str
    options: JsonObject
    error: str
    waits: bool


@dataclass(frozen=True, slots=True)
class ImportStanding:
    """The standing of an import: if lines are open, if an open line was not tried yet, and if a line had an effect."""

    open: bool
    untried: bool
    effective: bool


async def is_running(db: Connection, account_id: int, kind: str) -> bool:
    """True if an import of this kind by the account is not finished."""
    return await db.fetchval(IS_RUNNING, account_id, kind)


async def insert(
    db: Connection, id: int, account_id: int, kind: str, overwrite: bool, lines: Sequence[ImportLine], now: datetime
) -> None:
    """Store an import. A unique index refuses a second import of its kind at the same time."""
    await db.execute(INSERT, id, account_id, kind, overwrite, now)
    await db.execute(*INSERT_LINES.bind_many(lines, import_id=id))


async def find(db: Connection, id: int) -> Import | None:
    row = await db.fetchrow(FIND, id)
    return Import(**row) if row is not None else None


async def latest(db: Connection, account_id: int, limit: int) -> list[ImportProgress]:
    """Return the last imports of an account, the newest first."""
    return [ImportProgress(**row) for row in await db.fetch(LATEST, account_id, limit)]


async def failures(db: Connection, id: int, account_id: int, after: int, limit: int) -> list[FailedLine]:
    """Return the first lines after a number, of an account's import, that had no effect."""
    return [FailedLine(**row) for row in await db.fetch(FAILURES, id, account_id, after, limit)]


async def ready(db: Connection, id: int, limit: int) -> list[ImportLine]:
    """Return the next lines to run."""
    return [ImportLine(**row) for row in await db.fetch(READY, id, limit)]


async def wait(db: Connection, id: int, numbers: Sequence[int]) -> None:
    """Have lines wait until their accounts or posts are looked up."""
    await db.execute(WAIT, id, numbers)


async def is_waited_for(db: Connection, id: int, target: str) -> bool:
    """True if a line of an import waits until this target was looked up."""
    return await db.fetchval(IS_WAITED_FOR, id, target)


async def note_try(db: Connection, id: int, target: str, error: str) -> None:
    """Note why a target could not be looked up, for lines that go on waiting."""
    await db.execute(NOTE_TRY, id, target, error)


async def set_found(db: Connection, id: int, target: str, found: int | str) -> None:
    """End the waiting of lines: with the id of their account or post, or with the reason why there is none."""
    await db.execute(SET_UNFOUND if isinstance(found, str) else SET_FOUND, id, target, found)


async def standing(db: Connection, id: int) -> ImportStanding:
    return ImportStanding(*(await db.fetchrow(STANDING, id)).values())


async def try_again(db: Connection, id: int, account_id: int) -> bool:
    """Open the lines of an account's import that had no effect. False if another of its kind runs."""
    return await db.fetchval(TRY_AGAIN, id, account_id) is not None


async def stop(db: Connection, id: int, account_id: int, now: datetime, reason: str) -> None:
    """End an account's import. Its open lines have no effect, for this reason."""
    await db.execute(STOP, id, account_id, now, reason)


async def mark_done(db: Connection, id: int, number: int, error: str | None) -> None:
    """Note that a line was run, or why it had no effect."""
    await db.execute(MARK_DONE, id, number, error)


async def mark_cleared(db: Connection, id: int, now: datetime) -> None:
    """Note that everything was removed that is not in the file."""
    await db.execute(CLEARED, id, now)


async def finish(db: Connection, id: int, now: datetime) -> None:
    await db.execute(FINISH, id, now)


async def surplus(db: Connection, found: Import, limit: int) -> list[int]:
    """Return ids that the account has and the file does not name: accounts, statuses or lists, by the kind."""
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

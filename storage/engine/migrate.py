"""Migrations: numbered SQL files, forward only, each in a transaction, under a lock.

Only the process that holds the node's term may migrate (see `term.py`): a server of another version may be running.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # it has none

from . import trouble
from .database import Connection, StorageError

DIRECTORY = Path(__file__).parents[1] / "migrations"

# If two programs start at the same time, the second waits, and then finds nothing to do.
LOCK = "SELECT pg_advisory_lock(7461002)"
UNLOCK = "SELECT pg_advisory_unlock(7461002)"

CREATE_TABLE = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        number      integer PRIMARY KEY,
        name        text NOT NULL,
        checksum    text NOT NULL,
        applied_at  timestamptz NOT NULL DEFAULT now()
    )
"""

# By a record, because the schema may be of before the column.
MOVED_TO = "SELECT to_jsonb(node)->>'moved_to' FROM node"
HAS_NODE = "SELECT to_regclass('node') IS NOT NULL"

HAS_TABLE = "SELECT to_regclass('schema_migrations') IS NOT NULL"

APPLIED = "SELECT number, name, checksum FROM schema_migrations ORDER BY number"

RECORD = "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)"


class MigrationRefused(Exception):
    """Raised when the database does not fit this version of Troupe. Nothing was changed."""


class MigrationFailed(StorageError):
    """Raised when a migration failed. It was rolled back; the migrations before it stay."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A step of the schema's history."""

    number: int
    name: str
    sql: str

    @property
    def meaning(self) -> str:
        """The comment at the start of the file, as a single line."""
        comment = itertools.takewhile(lambda line: line.startswith("--"), self.sql.splitlines())
        return " ".join(line.removeprefix("--").strip() for line in comment)

    @property
    def checksum(self) -> str:
        return sha256(self.sql.encode()).hexdigest()


def migrations(directory: Path = DIRECTORY) -> list[Migration]:
    """Return the steps in `directory`, in order. Their numbers begin with 1 and have no gap."""
    steps = [_read(path) for path in sorted(directory.glob("*.sql"))]
    if [step.number for step in steps] != list(range(1, len(steps) + 1)):
        raise ValueError(f"migrations in {directory} are not numbered 1, 2, 3, …")
    return steps


async def missing(db: Connection, steps: list[Migration] | None = None) -> list[Migration]:
    """Return the steps that the database lacks, and change nothing. Raises MigrationRefused for other steps."""
    known = migrations() if steps is None else steps
    await _refuse_moved(db)
    return known[await _already_applied(db, known) :] if await db.fetchval(HAS_TABLE) else known


async def _refuse_moved(db: Connection) -> None:
    """Raise MigrationRefused if this database was moved to another place."""
    place = await db.fetchval(MOVED_TO) if await db.fetchval(HAS_NODE) else None
    if place is not None:
        raise MigrationRefused(f"this database was moved to {place}, and is no longer in use: use that one")


async def require_current(db: Connection) -> None:
    """Raise MigrationRefused if the schema is older or newer than this version of Troupe."""
    if steps := await missing(db):
        before = steps[0].number - 1
        raise MigrationRefused(
            (f"the database is at schema {before}" if before else "the database has no schema yet")
            + f", and this version of Troupe needs {steps[-1].number}: run `troupe migrate`, or start the server"
        )


async def migrate(
    db: Connection,
    steps: list[Migration] | None = None,
    on_applied: Callable[[Migration], None] = lambda step: None,
) -> list[Migration]:
    """Apply the missing steps and return them. The connection must be in no transaction."""
    await db.execute(LOCK)
    try:
        with trouble.unavailable():
            await db.execute(CREATE_TABLE)
        lacking = await missing(db, steps)
        for step in lacking:
            await _apply(db, step)
            on_applied(step)
    finally:
        await db.execute(UNLOCK)
    return lacking


def _read(path: Path) -> Migration:
    number, _, name = path.stem.partition("_")
    return Migration(int(number), name, path.read_text("utf-8"))


async def _already_applied(db: Connection, known: list[Migration]) -> int:
    """Return the number of steps that were applied before.

    Raises MigrationRefused if they differ from this version's.
    """
    applied = await db.fetch(APPLIED)
    if len(applied) > len(known):
        raise MigrationRefused(
            f"the database is at schema {applied[-1]['number']} ({applied[-1]['name']}), newer than the {len(known)} "
            "of this version of Troupe: run the newer version, or restore a backup made before it"
        )
    for row, step in zip(applied, known, strict=False):
        if row["number"] != step.number or row["checksum"] != step.checksum:
            raise MigrationRefused(
                f"migration {row['number']} ({row['name']}) in the database is not the one of this version of Troupe: "
                "an applied migration must never be changed"
            )
    return len(applied)


async def _apply(db: Connection, step: Migration) -> None:
    await db.execute("BEGIN")
    try:
        await db.execute(step.sql)
        await db.execute(RECORD, step.number, step.name, step.checksum)
        await db.execute("COMMIT")
    except asyncpg.PostgresError as error:
        await db.execute("ROLLBACK")
        raise MigrationFailed(
            f"migration {step.number:04} ({step.name}) failed, and nothing of it was kept: {trouble.explain(error)}"
        ) from error

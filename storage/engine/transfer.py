"""Copies of a whole database: a snapshot to dump, the loading of a dump in one transaction, and the comparison of both.

The statements of a dump are run by psql between BEGIN and COMMIT, which are written here. So a loading that ends early,
for any reason, leaves nothing: psql itself would commit the statements so far when its input ends.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .clients import ClientFailed, ClientPrograms, DatabaseAddress, choose, pieces
from .connect import LoneConnection
from .database import Connection

BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
EXPORT_SNAPSHOT = "SELECT pg_export_snapshot()"
END_SNAPSHOT = "ROLLBACK"

# Everything that a database of Troupe consists of would be in these.
OBJECTS = """
    SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
"""

TABLES = """
    SELECT tablename FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY tablename
"""

# A sum does not depend on the order of the rows, and md5 not on the server.
CONTENTS = """
    SELECT count(*) AS rows,
        coalesce(sum(('x' || substr(md5(whole_row::text), 1, 15))::bit(60)::bigint), 0)::text AS sum
    FROM "{table}" whole_row
"""

# The table that describes this server. It differs between copies.
OWN_ROWS = "node"

ANALYZE = "ANALYZE"

# pg_dump of 17 and later writes it, and older servers do not know it.
UNKNOWN_TO_OLDER = b"SET transaction_timeout = 0;\n"

NOT_EMPTY = (
    "the database has tables already: choose an empty one, or empty it with DROP SCHEMA public CASCADE;"
    " CREATE SCHEMA public;"
)

#: The number of rows of each table, and a sum of their contents.
Contents = dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and whether it is embedded."""

    dsn: str
    own: bool


@contextmanager
def snapshot(session: LoneConnection) -> Generator[str]:
    """Hold a snapshot of the database for the block. Yield its name, for pg_dump. The session reads from it too.

    After an error in the block, the snapshot ends with the session: PostgreSQL may not answer any more.
    """
    session(_execute, BEGIN_SNAPSHOT)
    yield session(_value, EXPORT_SNAPSHOT)
    session(_execute, END_SNAPSHOT)


async def is_empty(db: Connection) -> bool:
    """Return True if the database has no tables, views or sequences."""
    return not await db.fetchval(OBJECTS)


async def contents(db: Connection) -> Contents:
    """Return the number of rows and a sum for each table but `node`. Tables with equal rows have equal values."""
    tables = [row["tablename"] for row in await db.fetch(TABLES)]
    found: Contents = {}
    for table in tables:
        if table != OWN_ROWS:
            row = await db.fetchrow(CONTENTS.format(table=table))
            found[table] = (row["rows"], row["sum"])
    return found


async def analyze(db: Connection) -> None:
    """Gather the statistics that plans are made by: a dump has none."""
    await db.execute(ANALYZE)


def load(
    dumped: AbstractContextManager[IO[bytes]], clients: ClientPrograms, last: str, progress: Callable[[int], None]
) -> None:
    """Run the statements of a dump and then `last`, all or none. `progress` is called with numbers of bytes.

    `dumped` reads the statements, and raises ClientFailed at its end if they are not whole. Before it, nothing is
    committed.
    """
    psql = clients.write()
    try:
        psql.put(b"BEGIN;\n")
        with dumped as script:
            for number, piece in enumerate(pieces(script)):
                psql.put(piece.replace(UNKNOWN_TO_OLDER, b"", 1) if number == 0 else piece)
                progress(len(piece))
        psql.put(f"{last}\nCOMMIT;\n".encode())
        psql.end()
    except BaseException:
        psql.kill()
        raise


def copy_database(
    session: LoneConnection, source: Place, target: Place, named: Path | None, progress: Callable[[int], None]
) -> int:
    """Copy a database into an empty database, and return the number of rows. No other process may write meanwhile.

    A target with equal rows is accepted: a copy that was interrupted after its COMMIT has filled it.
    `session` is on the source, and `named` the directory of the client programs. Raises ClientFailed; the target then
    has nothing, or all of another content.
    """
    reading = session(choose, source.dsn, own=source.own, named=named)
    with LoneConnection(target.dsn) as other:
        if is_new := other(is_empty):
            writing = ClientPrograms(reading.folder, DatabaseAddress.of(target.dsn, own=target.own))
            load(reading.dump("--format=plain"), writing, "", progress)
        before, after = session(contents), other(contents)
        if before != after:
            if not is_new:
                raise ClientFailed(NOT_EMPTY)
            wrong = ", ".join(sorted(table for table in before if before[table] != after.get(table)))
            raise ClientFailed(f"the copy differs from the database in the tables: {wrong}")
        other(analyze)
    return sum(rows for rows, _ in after.values())


async def _execute(db: Connection, statement: str) -> None:
    await db.execute(statement)


async def _value(db: Connection, query: str) -> str:
    return await db.fetchval(query)

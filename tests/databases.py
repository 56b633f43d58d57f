"""Databases for tests: each test gets one that is migrated and has no rows.

PostgreSQL copies five hundred files to make one. So a database is emptied after a test and given to the next one, which
takes a tenth of the CPU. TRUNCATE would make the files anew and takes longer than a copy. A database is dropped instead
when a test changed its tables, gathered statistics or made it large: after each change that could make it differ from a
new one, other than in rows and sequences.

The connection that empties a database stays open while other tests use it, because its statements are planned by then:
that is half of what it costs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

import asyncpg

from troupe.storage.engine.connect import connect

from .kept_connections import KeptConnections, Loan

T = TypeVar("T")

TEMPLATE = "template_troupe"
ROOM = 1_000_000  # bytes by which the tables of a database may have grown

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
ROWS = "SELECT coalesce(jsonb_agg(t), '[]') FROM {table} t"
RESTORE = "INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::{table}, $1)"
SEQUENCES = "SELECT sequencename, last_value, start_value FROM pg_sequences ORDER BY sequencename"
SIZE = """
    SELECT sum(pg_relation_size(oid))::bigint FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
# No trigger and no foreign key says in which order tables are emptied.
FREELY = "SET session_replication_role = replica"

# Each change of a catalogue's row gives it a new xmin, younger than all that the template has.
CATALOGUES = (
    "pg_class",
    "pg_attribute",
    "pg_constraint",
    "pg_index",
    "pg_trigger",
    "pg_proc",
    "pg_type",
    "pg_namespace",
)
NEW_TRANSACTION = "SELECT pg_current_xact_id()::xid::text"
# The text is made a number once, and not for each row.
CHANGED = "count(*) FILTER (WHERE age(xmin) <= (SELECT age($1::text::xid)))"
STRUCTURE = " UNION ALL ".join(
    [
        *(f"SELECT '{name}', count(*), {CHANGED} FROM {name}" for name in CATALOGUES),
        "SELECT 'statistics', count(*), 0 FROM pg_statistic",
        """SELECT 'settings', count(*), 0 FROM pg_db_role_setting s
        JOIN pg_database d ON d.oid = s.setdatabase AND d.datname = current_database()""",
    ]
)

END_OTHERS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid() AND pid <> ALL($1)
"""


class Databases:
    """The databases of one PostgreSQL server, whose database `postgres` has the schema and no rows."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._kept = KeptConnections()
        self.runner = asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
        self._connections: dict[str, Any] = {}
        self._free: list[str] = []
        self._numbers = count(1)
        self._administer(f"CREATE DATABASE {TEMPLATE} TEMPLATE postgres")
        self._fresh = self._on(TEMPLATE, _Fresh.read)
        self._leave(TEMPLATE)  # PostgreSQL copies no database that is in use

    def named(self, name: str) -> str:
        """The DSN of a database of this server."""
        return self._dsn.replace("/postgres?", f"/{name}?")

    def take(self) -> str:
        """Return the name of a database like the template, for one test."""
        if self._free:
            return self._free.pop()
        name = f"test_{next(self._numbers)}"
        self._administer(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        return name

    def give_back(self, name: str) -> bool:
        """Empty a database for the next test, or drop it; True if it is kept."""
        processes = self._kept.processes(self.named(name))
        kept = self._on(name, lambda db: self._fresh.restore(db, processes))
        if kept:
            self._free.append(name)
        else:
            self._leave(name)
            self._administer(f"DROP DATABASE {name} WITH (FORCE)")
        return kept

    def loan(self, dsn: str) -> Loan:
        """The connections of one test to its database."""
        return Loan(self._kept, dsn)

    def close(self) -> None:
        """Close all connections."""
        for name in list(self._connections):
            self._leave(name)
        self.runner.close()

    @contextmanager
    def bare(self) -> Generator[str]:
        """A database with nothing in it, dropped at the end; its name."""
        name = f"bare_{next(self._numbers)}"
        self._administer(f"CREATE DATABASE {name}")
        yield name
        self._administer(f"DROP DATABASE {name} WITH (FORCE)")

    def _administer(self, statement: str) -> None:
        async def execute(db: Any) -> None:
            await db.execute(statement)

        self._on("postgres", execute)

    def _on(self, name: str, work: Callable[[Any], Awaitable[T]]) -> T:
        """Do some work on the connection to a database. It is done again if a test has ended the connection."""

        async def main() -> T:
            try:
                return await work(await self._connected(name))
            except (asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, asyncpg.InterfaceError):
                self._connections.pop(name).terminate()
                return await work(await self._connected(name))

        return self.runner.run(main())

    async def _connected(self, name: str) -> Any:
        if name not in self._connections:
            db = self._connections[name] = await connect(self.named(name), application_name="test")
            await db.execute(FREELY)
        return self._connections[name]

    def _leave(self, name: str) -> None:
        self.runner.run(self._kept.end(self.named(name)))
        self.runner.run(self._connections.pop(name).close())


class _Fresh:
    """What the template holds, and how a database is made equal to it again."""

    def __init__(self, since: str, structure: list[Any], size: int, rows: dict[str, Any], sequences: list[Any]) -> None:
        self._since = since
        self._structure = structure
        self._size = size
        self._rows = {table: content for table, content in rows.items() if content}
        self._filled = "SELECT " + ", ".join(f"({ROWS.format(table=table)}) AS {table}" for table in self._rows)
        # One statement, which PostgreSQL plans once for a connection.
        deletions = (f"_{table} AS (DELETE FROM {table})" for table, content in rows.items() if not content)
        values = (f"setval('{name}', {last or start}, {last is not None})" for name, last, start in sequences)
        self._empty = f"WITH {', '.join(deletions)} SELECT {', '.join(values)}"

    @classmethod
    async def read(cls, db: Any) -> "_Fresh":
        tables = [row["tablename"] for row in await db.fetch(TABLES)]
        rows = {table: await db.fetchval(ROWS.format(table=table)) for table in tables}
        since = await db.fetchval(NEW_TRANSACTION)
        return cls(since, await _structure(db, since), await db.fetchval(SIZE), rows, await db.fetch(SEQUENCES))

    async def restore(self, db: Any, keep: list[int]) -> bool:
        """Make the database equal to the template; False if that takes more than rows and sequences.

        All connections are ended but those of the processes to keep.
        """
        await db.fetch(END_OTHERS, keep)
        if await _structure(db, self._since) != self._structure or await db.fetchval(SIZE) > self._size + ROOM:
            return False
        await db.fetch(self._empty)
        for table, rows in (await db.fetchrow(self._filled)).items():
            if rows != self._rows[table]:
                await db.execute(f"DELETE FROM {table}")
                await db.execute(RESTORE.format(table=table), self._rows[table])
        return True


async def _structure(db: Any, since: str) -> list[Any]:
    return list(map(tuple, await db.fetch(STRUCTURE, since)))

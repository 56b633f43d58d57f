"""What PostgreSQL refuses for want of something: nothing was done, and the cause is known by its name."""

import errno
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from troupe.storage.engine.database import Connection, Doubtful, NotOwner, Unavailable
from troupe.storage.engine.faults import machine_fault
from troupe.storage.engine.pool import ConnectionPool, open_pool

from ..small_disks import small_disk

MEBIBYTE = "x" * 1024 * 1024


@pytest.fixture
async def pool(dsn: str, data: Path) -> AsyncIterator[ConnectionPool]:
    """Connections to a database whose one table lies on a small disk."""
    with small_disk(data / "small", "4m", mode="0777") as disk:
        async with open_pool(dsn, size=2) as pool:
            (disk / "tables").mkdir(mode=0o700)
            shutil.chown(disk / "tables", os.stat(await pool.read(value, "SHOW data_directory")).st_uid)
            await pool.read(execute, f"CREATE TABLESPACE small LOCATION '{disk / 'tables'}'")
            yield pool
            await pool.read(execute, "DROP TABLE IF EXISTS notes")
            await pool.read(execute, "DROP TABLESPACE small")


async def execute(db: Connection, query: str, *args: object) -> str:
    return await db.execute(query, *args)


async def value(db: Connection, query: str) -> Any:
    return await db.fetchval(query)


async def test_a_full_disk_refuses_a_transaction_and_costs_no_connection(pool: ConnectionPool) -> None:
    await pool.transact(execute, "CREATE TABLE notes (text text) TABLESPACE small")
    await pool.transact(execute, "ALTER TABLE notes ALTER text SET STORAGE EXTERNAL")
    before = await pool.read(connections)
    with pytest.raises(Unavailable, match="No space left on device") as refused:
        await fill(pool)
    assert machine_fault(refused.value) == "disk full"
    assert await pool.read(value, "SELECT count(*) FROM notes") in range(1, 10)
    assert await pool.read(connections) == before
    await pool.transact(execute, "DROP TABLE notes")
    await pool.transact(execute, "CREATE TABLE notes (text text) TABLESPACE small")
    await pool.transact(execute, "INSERT INTO notes VALUES ($1)", MEBIBYTE)


async def fill(pool: ConnectionPool) -> None:
    for _ in range(10):
        await pool.transact(execute, "INSERT INTO notes VALUES ($1)", MEBIBYTE)


async def connections(db: Connection) -> set[int]:
    """The processes of PostgreSQL that the pool has."""
    query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    return {row["pid"] for row in await db.fetch(query)}


async def test_a_database_that_only_reads_says_so(dsn: str) -> None:
    async with open_pool(dsn, size=1) as pool:
        with pytest.raises(Unavailable) as refused:
            await pool.transact(write_where_nobody_may)
        assert machine_fault(refused.value) == "PostgreSQL is read-only"


async def write_where_nobody_may(db: Connection) -> None:
    await db.execute("SET TRANSACTION READ ONLY")
    await db.execute("CREATE TABLE notes (text text)")


async def test_too_many_connections_are_the_cause_that_is_told(dsn: str) -> None:
    async with open_pool(dsn, size=1) as pool:
        name = dsn.split("?", maxsplit=1)[0].rpartition("/")[2]
        await pool.read(execute, f"ALTER DATABASE {name} CONNECTION LIMIT 0")
        inside: Any = pool  # its state is set by hand: the role that tests connect as has no limit
        refusal = inside._none_free()
        assert machine_fault(refusal) == "no connection to PostgreSQL was free"
        inside._error, inside._connected = asyncpg.TooManyConnectionsError("sorry, too many clients already"), 0
        assert machine_fault(inside._none_free()) == "too many connections"
        inside._connected = 1


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "disk full"),
        (OSError(errno.EROFS, "x"), "read-only file system"),
        (OSError(errno.EMFILE, "x"), "too many open files"),
        (BlockingIOError(errno.EAGAIN, "x"), "too many processes"),
        (PermissionError(errno.EACCES, "x"), None),
        (FileNotFoundError(errno.ENOENT, "x"), None),
        (ValueError("x"), None),
        (asyncpg.UniqueViolationError("x"), None),
        (Unavailable("the connection pool is closed"), "the connection pool is closed"),
        (Doubtful("x"), "x"),
        (NotOwner("shard 7 has epoch 2, not 1"), "the table shards names another owner of accounts"),
    ],
    ids=str,
)
def test_what_is_the_machines_fault(error: Exception, cause: str | None) -> None:
    assert machine_fault(error) == cause


@pytest.mark.parametrize(
    "lost",
    [
        ConnectionRefusedError(errno.ECONNREFUSED, "x"),
        asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress"),
    ],
    ids=["refused", "closing"],
)
def test_a_connection_that_cannot_be_made_or_is_closing_is_named(lost: Exception) -> None:
    refused = Unavailable("x")
    refused.__cause__ = lost
    assert machine_fault(refused) == "PostgreSQL can't be reached"

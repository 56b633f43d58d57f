"""What a connection asks PostgreSQL for, other than its statements."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from troupe.storage.engine.connect import connect, run, transact_once
from troupe.storage.engine.database import Unavailable

TIMES = "SELECT $1::timestamptz[]"
SIZES = "CREATE TYPE size AS ENUM ('small', 'large')"
READ_SIZES = "SELECT $1::size[]"


async def asked(dsn: str, query: str, values: Sequence[object]) -> list[str]:
    """Return the statements that PostgreSQL gets for this one on a new connection."""
    statements: list[str] = []

    def log(record: Any) -> None:
        statements.append(record.query)

    connection: Any = await connect(dsn, application_name="test")
    with connection.query_logger(log):
        assert await connection.fetchval(query, values) == values
    await connection.close()
    return statements


def test_postgresql_is_asked_once_about_its_own_types(dsn: str) -> None:
    run(lambda: asked(dsn, TIMES, []))
    assert run(lambda: asked(dsn, TIMES, [])) == [TIMES]


def test_types_that_a_migration_makes_are_read_by_each_connection(dsn: str) -> None:
    """Their numbers are others in each database."""

    async def make() -> None:
        connection = await connect(dsn, application_name="test")
        await connection.execute(SIZES)
        await connection.close()

    run(make)
    statements = [run(lambda: asked(dsn, READ_SIZES, ["small"])) for _ in range(2)]
    assert statements[0] == statements[1] != [READ_SIZES]


@pytest.mark.parametrize(
    "parameters",
    ["connect_timeout=10", "keepalives=1&keepalives_idle=30", "channel_binding=prefer&gssencmode=disable&sslsni=1"],
)
def test_parameters_of_libpq_alone_are_left_out(dsn: str, parameters: str) -> None:
    named = f"{dsn}{'&' if '?' in dsn else '?'}{parameters}&work_mem=5MB"
    assert transact_once(named, lambda db: db.fetchval("SHOW work_mem")) == "5MB"


@pytest.mark.parametrize("parameter", ["channel_binding=require", "schema=public", "pool_size=5"])
def test_a_parameter_that_postgresql_does_not_know_is_named(dsn: str, parameter: str) -> None:
    named = f"{dsn}{'&' if '?' in dsn else '?'}{parameter}"
    name = parameter.partition("=")[0]
    with pytest.raises(Unavailable, match=f'"{name}": leave it out of TROUPE_DATABASE_URL'):
        transact_once(named, lambda db: db.fetchval("SELECT 1"))


def test_a_port_that_no_host_has_is_no_fault_of_this_program() -> None:
    with pytest.raises(Unavailable, match="can't be read"):
        transact_once("postgresql://ada@127.0.0.1:99999/troupe", lambda db: db.fetchval("SELECT 1"))


ASLEEP = "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $1"

PRELUDE = """
import sys
from troupe.storage.engine.connect import LoneConnection, transact_once
from troupe.storage.engine.transfer import snapshot

async def work(db):
    print(await db.fetchval("SELECT pg_backend_pid()"), flush=True)
    await db.execute("SELECT pg_sleep(60)")

try:
"""
TRANSACTION = "    transact_once(sys.argv[1], work)"
BACKUP = """
    with LoneConnection(sys.argv[1]) as session, snapshot(session):
        session(work)
"""


async def asleep(dsn: str, backend: int) -> None:
    """Wait until a connection of another process has begun to sleep."""
    connection = await connect(dsn, application_name="test")
    async with asyncio.timeout(20):
        while not await connection.fetchval(ASLEEP, backend):  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
    await connection.close()


@pytest.mark.parametrize("body", [TRANSACTION, BACKUP], ids=["transaction", "backup"])
def test_a_command_ends_by_ctrl_c_while_postgresql_does_not_answer(dsn: str, body: str) -> None:
    """It says nothing else: what the interrupted statement ended with is no news."""
    program = f"{PRELUDE}{body}\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    command = subprocess.Popen(
        [sys.executable, "-c", program, dsn], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    backend = int(command.stdout.readline())
    # Not before the command waits: a signal amid asyncpg's own code may be lost.
    run(lambda: asleep(dsn, backend))
    os.kill(backend, signal.SIGSTOP)
    try:
        command.send_signal(signal.SIGINT)
        assert command.communicate(timeout=20) == ("interrupted\n", "")
    finally:
        command.kill()
        os.kill(backend, signal.SIGCONT)
    assert command.returncode == 0

"""Reports of lock waits: after a second, a command names the holder of a lock that it waits for, so that it does not
look hung.
"""

# Not strict: asyncpg, around which this module is an adapter, has no complete types.
# pyright: standard

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Collection, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress

import asyncpg

from .database import EngineConnection, Row
from .urls import for_asyncpg

#: Seconds after which a wait is said.
REPORT_AFTER = 1.0
# Seconds between two looks for a lock. Most that takes long is work.
LOOK_EVERY = 10.0
PATIENCE = 10  # seconds for a look

BLOCKER = """
    SELECT pid, application_name, to_char(xact_start, 'HH24:MI:SS') AS since FROM pg_stat_activity
    WHERE pid = ANY(pg_blocking_pids($1)) ORDER BY xact_start LIMIT 1
"""

# By the name of the connection that holds the lock.
HOLDERS = {
    "troupe/command": "another command",
    "troupe/copy": "a command that moves the database",
    "troupe/migrate": "a migration",
    "troupe/term=": "the server",
}


@asynccontextmanager
async def report_blocker(dsn: str, connection: EngineConnection) -> AsyncGenerator[None]:
    """Report who holds the lock that the connection waits for, while this block runs. On the asyncio side."""
    watcher = asyncio.create_task(_watch(dsn, connection.get_server_pid()))
    try:
        yield
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


async def _watch(dsn: str, process: int) -> None:
    seconds = REPORT_AFTER
    while True:
        await asyncio.sleep(seconds)
        # A PostgreSQL that can't be asked is reported by the command itself.
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            async with _looking(dsn) as connection:
                by = await connection.fetchrow(BLOCKER, process)
            if by is not None:
                return say(f"Waiting for {_name(by)}, which holds a lock of the database ({_process(by)}).")
        seconds = LOOK_EVERY


async def holders(dsn: str, processes: Collection[int]) -> Mapping[int, str]:
    """Return who holds the locks that these processes of PostgreSQL wait for, by process. On the asyncio side.

    Processes that wait for no lock are left out. Empty if PostgreSQL can't be asked.
    """
    with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        async with _looking(dsn) as connection:
            found = [(process, await connection.fetchrow(BLOCKER, process)) for process in processes]
            return {process: f"{_name(by)} ({_process(by)})" for process, by in found if by is not None}
    return {}


@asynccontextmanager
async def _looking(dsn: str) -> AsyncGenerator[EngineConnection]:
    looking = await asyncpg.connect(
        for_asyncpg(dsn), timeout=PATIENCE, command_timeout=PATIENCE, server_settings={"timezone": "UTC"}
    )
    try:
        yield looking
    finally:
        looking.terminate()


def _name(blocker: Row) -> str:
    name = blocker["application_name"]
    holder = next((words for start, words in HOLDERS.items() if name.startswith(start)), None)
    return holder or name or "a session without a name"


def _process(blocker: Row) -> str:
    return f"process {blocker['pid']} of PostgreSQL, in a transaction since {blocker['since']} UTC"


@contextmanager
def report_wait(cause: str) -> Generator[None]:
    """Write "Waiting for …" to standard error if this block takes longer than a second."""
    timer = threading.Timer(REPORT_AFTER, say, [f"Waiting for {cause}."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say(text: str) -> None:
    with suppress(OSError, ValueError):  # it may be closed
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

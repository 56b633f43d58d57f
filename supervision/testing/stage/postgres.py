"""One PostgreSQL for all simulations of a process: started when first used, stopped with the process."""

from __future__ import annotations

import atexit
import functools
import shutil
import signal
import tempfile
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from ....storage.engine.connect import connect
from ....storage.engine.database import Doubtful, Unavailable
from ....storage.engine.embedded import enter
from ....storage.engine.term import upgrade
from ..lockstep import Lockstep
from ..run import Run

SECOND = "second"  # the name of the second database
DEADLINE = 60.0  # seconds of real time: a statement that hangs must not hang the test


@functools.cache
def sandbox() -> Lockstep:
    """The connection that all simulations share, on a database to which nothing is ever committed."""
    return _lockstep(_server_dsn())


@functools.cache
def second_sandbox() -> Lockstep:
    """The connection that all simulations with two servers share, for the second one: on a database of its own."""
    dsn = _server_dsn()
    first = urlsplit(dsn)
    sandbox().block(_create(dsn, SECOND))
    second = urlunsplit(first._replace(path=f"/{SECOND}"))
    upgrade(second)
    return _lockstep(second)


@functools.cache
def _server_dsn() -> str:
    """Start PostgreSQL. Return the URL of its first database, with Troupe's tables."""
    _clean_up_on_sigterm()
    data = Path(tempfile.mkdtemp(prefix="troupe-simulation-"))
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    server = enter(data, durable=False)
    atexit.register(server.leave)
    upgrade(server.dsn)
    return server.dsn


def _lockstep(dsn: str) -> Lockstep:
    connecting = connect(dsn, application_name="simulation", deadline=DEADLINE)
    lockstep = Lockstep(connecting, unavailable=Unavailable, doubtful=Doubtful)
    atexit.register(lockstep.close)
    return lockstep


async def _create(dsn: str, name: str) -> None:
    """Create a database, on a connection that is in no transaction."""
    connection = await connect(dsn, application_name="simulation", deadline=DEADLINE)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()


@asynccontextmanager
async def with_database(run: Run) -> AsyncGenerator[Run]:
    """The world of a run with Troupe's tables and nothing else."""
    run.postgres = sandbox
    yield run


def _clean_up_on_sigterm() -> None:
    """Have SIGTERM end the process like Ctrl-C, so that the database is stopped. Another handler is left in place."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)

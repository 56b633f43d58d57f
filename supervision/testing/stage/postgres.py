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

from ....storage.engine.connect import connect
from ....storage.engine.database import Doubtful, Unavailable
from ....storage.engine.embedded import enter
from ....storage.engine.term import upgrade
from ..lockstep import Lockstep
from ..run import Run

DEADLINE = 60.0  # seconds of real time: a statement that hangs must not hang the test


@functools.cache
def sandbox() -> Lockstep:
    """The connection that all simulations share, on a database to which nothing is ever committed."""
    _clean_up_on_sigterm()
    data = Path(tempfile.mkdtemp(prefix="troupe-simulation-"))
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    server = enter(data, durable=False)
    atexit.register(server.leave)
    upgrade(server.dsn)
    connecting = connect(server.dsn, application_name="simulation", deadline=DEADLINE)
    lockstep = Lockstep(connecting, unavailable=Unavailable, doubtful=Doubtful)
    atexit.register(lockstep.close)
    return lockstep


@asynccontextmanager
async def with_database(run: Run) -> AsyncGenerator[Run]:
    """The world of a run with Troupe's tables and nothing else."""
    run.postgres = sandbox
    yield run


def _clean_up_on_sigterm() -> None:
    """Have SIGTERM end the process like Ctrl-C, so that the database is stopped. Another handler is left in place."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)

"""One PostgreSQL for all simulations of a process: started when the first of them wants rows, gone with the process."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from ...storage.embedded import enter
from ...storage.migrate import upgrade
from .lockstep import Lockstep


@functools.cache
def sandbox() -> Lockstep:
    """The connection that all simulations share, on a database to which nothing is ever committed."""
    data = Path(tempfile.mkdtemp(prefix="troupe-simulation-"))
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    server = enter(data, durable=False)
    atexit.register(server.leave)
    upgrade(server.dsn)
    lockstep = Lockstep(server.dsn)
    atexit.register(lockstep.close)
    return lockstep

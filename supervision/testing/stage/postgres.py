"""The PostgreSQL of all simulations of a process: started when first used, stopped with the process.

The database of a simulated server remembers when the outbox had nothing due. The relays of an idle server look for
effects every second of virtual time, which was a third of the CPU of all scenarios. All transactions of a run go
through its one connection, so the answer stays valid until the next transaction, or until the time of a row in the
outbox. Each look is still a step of the schedule, where faults strike.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import signal
import tempfile
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit, urlunsplit

from ....storage import outbox
from ....storage.engine.connect import connect
from ....storage.engine.database import Connection, Doubtful, Entering, Removed, Unavailable
from ....storage.engine.embedded import enter
from ....storage.engine.shards import moved
from ....storage.engine.term import upgrade
from ....storage.outbox import DueEffect
from ..lockstep import Lockstep, LockstepDatabase, StorageErrors
from ..overlapping import Sessions
from ..run import Run

SECOND = "second"  # the name of the second database
OVERLAPPING = "overlapping"
ERRORS = StorageErrors(unavailable=Unavailable, doubtful=Doubtful, removed=Removed, moved=moved)
DEADLINE = 60.0  # seconds of real time: a statement that hangs must not hang the test


@functools.cache
def sandbox() -> Lockstep:
    """The connection that all simulations share, on a database to which nothing is ever committed."""
    return _lockstep(_server_dsn())


@functools.cache
def second_sandbox() -> Lockstep:
    """The connection that all simulations with two servers share for the second server, on a database of its own."""
    dsn = _server_dsn()
    first = urlsplit(dsn)
    sandbox().block(_create(dsn, SECOND))
    second = urlunsplit(first._replace(path=f"/{SECOND}"))
    upgrade(second)
    return _lockstep(second)


@functools.cache
def overlapping_sessions() -> Sessions:
    """The sessions that all simulations with overlapping transactions share, on a database of their own."""
    dsn = _server_dsn()
    sandbox().block(_create(dsn, OVERLAPPING))
    own = urlunsplit(urlsplit(dsn)._replace(path=f"/{OVERLAPPING}"))
    upgrade(own)
    sessions = Sessions(lambda: connect(own, application_name="simulation", deadline=DEADLINE), ERRORS)
    atexit.register(sessions.close)
    return sessions


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
    lockstep = Lockstep(connecting, ERRORS)
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


P = ParamSpec("P")
T = TypeVar("T")

# The next time of any row: a row also waits for older rows of its partition, which may be in another queue.
NEXT_TIME = """
    SELECT min(at) FROM outbox CROSS JOIN LATERAL (VALUES (due_at), (claimed_until)) AS times (at) WHERE at > $1
"""
NEVER = datetime.max.replace(tzinfo=UTC)

# The queues that have rows. Most queues are usually empty, and this query costs much less than the search for due rows.
FILLED = "SELECT DISTINCT queue FROM outbox"


@dataclass(frozen=True, slots=True)
class NothingDue:
    """Nothing was due after so many transactions, and will not be before a time."""

    transactions: int
    until: datetime


class RememberedLooks:
    """The database of a simulated process."""

    def __init__(self, database: LockstepDatabase) -> None:
        self._database = database
        self._quiet: dict[str, NothingDue] = {}
        self._filled: set[str] = set()
        self._filled_after = -1  # transactions

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.transact(work, *args, **kwargs)

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.transact_in(shard, work, *args, **kwargs)

    def entering(self, shard: int) -> Entering:
        return self._database.entering(shard)

    async def transact_alone(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.transact_alone(work, *args, **kwargs)

    async def transact_checked(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._database.transact_checked(work, *args, **kwargs)

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # Any: `due` is of the type that P and T have then, which the type checker can't see.
        asked: Any = self.due if work is outbox.due else work
        return await self._database.read(asked, *args, **kwargs)

    # Any: the parameters of `outbox.due` have several types.
    async def due(self, db: Connection, now: datetime, queue: str, **terms: Any) -> list[DueEffect]:
        """Return due effects as `outbox.due` does. PostgreSQL is asked only if its answer may have changed."""
        transactions = self._database.transactions
        if self._filled_after != transactions:
            self._filled = {row["queue"] for row in await db.fetch(FILLED)}
            self._filled_after = transactions
        if queue not in self._filled:
            return []
        look = f"{queue} {terms}"
        before = self._quiet.get(look)
        unchanged = before is not None and before.transactions == transactions
        if before is not None and unchanged and now < before.until:
            return []
        found = await outbox.due(db, now, queue, **terms)
        if not found:
            # The first look after a transaction is often the only look before the next: it does not ask for the time.
            until = await db.fetchval(NEXT_TIME, now) or NEVER if unchanged else now
            self._quiet[look] = NothingDue(transactions, until)
        return found

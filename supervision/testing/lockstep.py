"""Real PostgreSQL under the seeded scheduler.

A transaction blocks the whole Trio loop until it is done, with a checkpoint before and after it. For Trio it is an
atomic step without duration: the network's timing cannot change the schedule, and the SQL is the SQL of production.
asyncpg opens its connection on a private asyncio loop in the same thread. Statements then need no loop
(`direct_connection.py`).

A simulated run is one outer transaction that is rolled back at its end, and each of its transactions is a savepoint, so
starting from the same rows costs nothing. The price: transactions never overlap, so lock waits and serialization
failures do not happen (retries are injected, and tests with two sessions cover the rest). Constraints that are deferred
to COMMIT are not checked. `now()` does not move in SQL, which therefore must not use it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import trio

from .direct_connection import OpenedConnection, Statements, at_once
from .faults import Fault, Faults

P = ParamSpec("P")
T = TypeVar("T")

# One savepoint is open at all times, so that a commit can go with the next statement and costs no round trip.
SAVEPOINT = "SAVEPOINT step"
RELEASE = "RELEASE SAVEPOINT step"
BEGIN = f"BEGIN; {SAVEPOINT}"
UNDO = "ROLLBACK TO SAVEPOINT step"
COMMIT = Statements(("release", "RELEASE"), ("savepoint", "SAVEPOINT"))

AWAY_FOR = 5.0  # virtual seconds of an injected absence
PATIENCE = 2.0  # virtual seconds after which a caller is refused, as by the production pool
VACUUM_EVERY = 100  # runs between two vacuums: rolled-back rows stay in the tables and would slow every later run down


class SqlConnection(Protocol):
    """The part of asyncpg's connection that a piece of work may use."""

    async def fetch(self, query: str, *args: object) -> list[Any]: ...
    async def fetchrow(self, query: str, *args: object) -> Any: ...
    async def fetchval(self, query: str, *args: object) -> Any: ...
    async def execute(self, query: str, *args: object) -> str: ...


class Lockstep:
    """A connection that completes each piece of work before anything else runs.

    `connecting` opens it, as asyncpg does. `unavailable` and `doubtful` are the product's exceptions: nothing was
    committed, and the connection was lost in COMMIT.
    """

    def __init__(
        self, connecting: Coroutine[object, object, object], *, unavailable: type[Exception], doubtful: type[Exception]
    ) -> None:
        self.unavailable = unavailable
        self.doubtful = doubtful
        self._opened = OpenedConnection(connecting, _prepare)
        self._connection = self._opened.direct
        self._runs = 0
        self.transactions = 0  # so far, also rolled-back transactions

    def block(self, work: Coroutine[object, object, T]) -> T:
        """Run work of asyncio to its end while no other task runs."""
        return self._opened.block(work)

    @contextmanager
    def run(self) -> Generator[None]:
        """A simulated run, which is rolled back at its end."""
        self._runs += 1
        if self._runs % VACUUM_EVERY == 0:
            at_once(self._connection.execute("VACUUM"))
        at_once(self._connection.execute(BEGIN))
        try:
            yield
        finally:
            at_once(self._connection.execute("ROLLBACK"))

    def transact(self, work: Callable[[SqlConnection], Awaitable[T]], *, commit: bool = True) -> T:
        """Run `work` in a savepoint of its own. With `commit=False` it is run and then rolled back."""
        self.transactions += 1
        return at_once(self._transact(work, commit))

    async def _transact(self, work: Callable[[SqlConnection], Awaitable[T]], commit: bool) -> T:
        try:
            value = await work(self._connection)
        except BaseException:
            await self._connection.execute(UNDO)
            raise
        if commit:
            self._opened.socket.defer_answer(COMMIT)
        else:
            await self._connection.execute(UNDO)
        return value

    def read(self, work: Callable[[SqlConnection], Awaitable[T]]) -> T:
        """Run `work` that only reads: there is nothing to commit, and the savepoint is needed only if it fails."""
        return at_once(self._read(work))

    async def _read(self, work: Callable[[SqlConnection], Awaitable[T]]) -> T:
        try:
            return await work(self._connection)
        except BaseException:
            await self._connection.execute(UNDO)
            raise

    def close(self) -> None:
        self._opened.close()


async def _prepare(connection: Any) -> list[Any]:
    """Turn PostgreSQL's notes about single statements off, and prepare the statements of a commit.

    They are closed with their objects.
    """
    prepared = [
        await connection.prepare(RELEASE, name="release"),
        await connection.prepare(SAVEPOINT, name="savepoint"),
    ]
    # Last: preparing leaves the timer of `statement_timeout` running, which would cancel the first statement after a
    # pause, as when other scenarios use another database first.
    for name in ("track_activities", "update_process_title"):
        await connection.execute(f"SET {name} = off")
    return prepared


class Postgres(Protocol):
    """The part of a connection, or of several, that runs work to its end while no other task runs."""

    unavailable: type[Exception]
    doubtful: type[Exception]
    transactions: int

    def transact(self, work: Callable[[SqlConnection], Awaitable[T]], *, commit: bool = True) -> T: ...
    def read(self, work: Callable[[SqlConnection], Awaitable[T]]) -> T: ...


class LockstepDatabase:
    """The engine's Database for a simulated run, with all faults between the server and PostgreSQL.

    `label` begins the names of its work in traces and fault points.
    """

    def __init__(self, lockstep: Postgres, faults: Faults, note: Callable[[str], None], label: str = "") -> None:
        self._lockstep = lockstep
        self._faults = faults
        self._note = note
        self._label = label
        self._back_at = 0.0
        self._remembered: dict[tuple[str, str], list[Any]] = {}
        self._remembered_after = 0  # transactions

    @property
    def transactions(self) -> int:
        """The number of transactions so far: while it stays, all rows do."""
        return self._lockstep.transactions

    async def transact(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a transaction in a single step, with the faults that it may have."""
        name = self._label + work_name(work)

        def bound(db: SqlConnection) -> Awaitable[T]:
            return work(db, *args, **kwargs)

        await self._reach(name)
        if self._faults.strikes(Fault.LOST, name):
            raise self._lockstep.unavailable(f"{name}: connection lost before COMMIT")
        if self._faults.strikes(Fault.CONFLICT, name):
            await self._transaction(name, bound, commit=False)
        if self._faults.strikes(Fault.DOUBT_UNDONE, name):
            await self._transaction(name, bound, commit=False)
            raise self._lockstep.doubtful(f"{name}: connection lost in COMMIT")
        try:
            value = await self._transaction(name, bound)
        except Exception as error:
            self._note(f"has undone: {name}: {type(error).__name__}")
            raise
        self._note(f"has committed: {name}")
        if self._faults.strikes(Fault.DOUBT_DONE, name):
            raise self._lockstep.doubtful(f"{name}: connection lost in COMMIT")
        await trio.lowlevel.cancel_shielded_checkpoint()
        return value

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /,
        *args: P.args, **kwargs: P.kwargs,
    ) -> T:  # fmt: skip
        """Run a transaction in a single step. The simulated server owns all shards, so it need not enter any."""
        return await self.transact(work, *args, **kwargs)

    def entering(self, shard: int) -> tuple[int, int]:
        """Return the shard and the epoch of the rows that a run begins with."""
        return shard, 0

    async def transact_alone(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a transaction of one statement in a single step, with the faults of `transact`."""
        return await self.transact(work, *args, **kwargs)

    async def read(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a read in a single step."""
        name = self._label + work_name(work)
        await self._reach(name)
        if self._faults.strikes(Fault.LOST, name):
            raise self._lockstep.unavailable(f"{name}: connection lost")
        value = await self._reading(name, lambda db: work(db, *args, **kwargs))
        self._note(f"has read: {name}")
        await trio.lowlevel.cancel_shielded_checkpoint()
        return value

    def cut(self) -> None:
        """End all work, as the death of the process does: there is none, because a transaction is one step."""

    def restore(self) -> None:
        """Take the work of the next process."""

    def rows(self, query: str, *args: object) -> list[Any]:
        """Return rows at this instant, for the claims of a scenario: no step, no fault.

        Claims are often checked again before anything was written: then the rows of the last check are used.
        """
        if self._remembered_after != self.transactions:
            self._remembered.clear()
            self._remembered_after = self.transactions
        question = query, repr(args)
        found = self._remembered.get(question)
        if found is None:
            found = self._remembered[question] = self._lockstep.read(lambda db: db.fetch(query, *args))
        return [*found]

    def arrange(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Store the rows that a scenario starts from: a transaction that is no step and cannot fail."""
        return self._lockstep.transact(lambda db: work(db, *args, **kwargs))

    async def _reach(self, name: str) -> None:
        """Wait for the database like a caller of the production pool."""
        await trio.lowlevel.checkpoint()
        now = trio.current_time()
        if now >= self._back_at and self._faults.strikes(Fault.AWAY, name):
            self._back_at = now + AWAY_FOR
        if now < self._back_at:
            await trio.sleep(min(self._back_at - now, PATIENCE))
        if trio.current_time() < self._back_at:
            raise self._lockstep.unavailable(f"{name}: the database is away")

    async def _transaction(
        self, name: str, work: Callable[[SqlConnection], Awaitable[T]], *, commit: bool = True
    ) -> T:  # fmt: skip
        """Run a transaction. With `commit=False` it is rolled back at its end."""
        return self._lockstep.transact(work, commit=commit)

    async def _reading(self, name: str, work: Callable[[SqlConnection], Awaitable[T]]) -> T:
        return self._lockstep.read(work)


def work_name(work: Callable[..., object]) -> str:
    """Return the name of a piece of work in traces and fault points."""
    return getattr(work, "__name__", type(work).__name__)

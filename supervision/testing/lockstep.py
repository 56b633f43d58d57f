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
from dataclasses import dataclass
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

# The first statement of a transaction that enters a shard, if its database has epochs.
ENTER = "SELECT enter_shard($1::smallint, $2::bigint)"
# That of other transactions of a node of a cluster. A node that was removed has no row.
ENTER_AS_NODE = "SELECT true FROM nodes WHERE incarnation = $1 FOR KEY SHARE"

AWAY_FOR = 5.0  # virtual seconds of an injected absence
PATIENCE = 2.0  # virtual seconds after which a caller is refused, as by the production pool
VACUUM_EVERY = 100  # runs between two vacuums: rolled-back rows stay in the tables and would slow every later run down


class SqlConnection(Protocol):
    """The part of asyncpg's connection that a piece of work may use."""

    async def fetch(self, query: str, *args: object) -> list[Any]: ...
    async def fetchrow(self, query: str, *args: object) -> Any: ...
    async def fetchval(self, query: str, *args: object) -> Any: ...
    async def execute(self, query: str, *args: object) -> str: ...


class OwnEpochs(Protocol):
    """The epochs in which a node owns its shards. `ENTER` refuses all others.

    `incarnation` is of the node. None if it has not joined a cluster.
    """

    incarnation: int | None

    def entering(self, shard: int) -> tuple[int, int]:
        """Return the shard and its epoch."""
        ...


@dataclass(frozen=True, slots=True)
class StorageErrors:
    """The product's exceptions.

    `unavailable`: nothing was committed. `doubtful`: the connection was lost in COMMIT. `removed`: the node has no row.
    `moved` returns the exception for an error of PostgreSQL that says that another node owns a shard, and None for all
    other errors.
    """

    unavailable: type[Exception]
    doubtful: type[Exception]
    removed: type[Exception]
    moved: Callable[[BaseException], Exception | None]


class Lockstep:
    """A connection that completes each piece of work before anything else runs.

    `connecting` opens it, as asyncpg does.
    """

    def __init__(self, connecting: Coroutine[object, object, object], errors: StorageErrors) -> None:
        self.errors = errors
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

    errors: StorageErrors
    transactions: int

    def transact(self, work: Callable[[SqlConnection], Awaitable[T]], *, commit: bool = True) -> T: ...
    def read(self, work: Callable[[SqlConnection], Awaitable[T]]) -> T: ...


class LockstepDatabase:
    """The engine's Database for a simulated run, with all faults between the server and PostgreSQL.

    `label` begins the names of its work in traces and fault points. Without `epochs`, transactions enter no shard.
    """

    def __init__(
        self, lockstep: Postgres, faults: Faults, note: Callable[[str], None], label: str = "",
        epochs: OwnEpochs | None = None,
    ) -> None:  # fmt: skip
        self.epochs = epochs
        #: Called with a shard and its epoch in the step in which a transaction that has entered it commits.
        self.observe_commit: Callable[[int, int], object] = lambda shard, epoch: None
        self._errors = lockstep.errors
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
        """Run a transaction in a single step, with the faults that it may have.

        A node of a cluster must have its row in it.
        """
        incarnation = None if self.epochs is None else self.epochs.incarnation

        async def enter(db: SqlConnection) -> T:
            if incarnation is not None and not await db.fetchval(ENTER_AS_NODE, incarnation):
                raise self._errors.removed("the node was removed")
            return await work(db, *args, **kwargs)

        return await self._with_faults(work_name(work), enter)

    async def _with_faults(
        self, name: str, work: Callable[[SqlConnection], Awaitable[T]], committed: Callable[[], object] = lambda: None
    ) -> T:
        """Run a transaction. `committed` is called in the step of its commit."""
        name = self._label + name
        await self._reach(name)
        if self._faults.strikes(Fault.LOST, name):
            raise self._errors.unavailable(f"{name}: connection lost before COMMIT")
        if self._faults.strikes(Fault.CONFLICT, name):
            await self._transaction(name, work, commit=False)
        if self._faults.strikes(Fault.DOUBT_UNDONE, name):
            await self._transaction(name, work, commit=False)
            raise self._errors.doubtful(f"{name}: connection lost in COMMIT")
        try:
            value = await self._transaction(name, work)
        except Exception as error:
            moved = self._errors.moved(error)
            self._note(f"has undone: {name}: {type(moved or error).__name__}")
            if moved is not None:
                raise moved from error
            raise
        committed()
        self._note(f"has committed: {name}")
        if self._faults.strikes(Fault.DOUBT_DONE, name):
            raise self._errors.doubtful(f"{name}: connection lost in COMMIT")
        await trio.lowlevel.cancel_shielded_checkpoint()
        return value

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /,
        *args: P.args, **kwargs: P.kwargs,
    ) -> T:  # fmt: skip
        """Run a transaction that enters a shard, if the database has epochs, in a single step.

        The epoch is that of the moment when the first try begins, as in the production pool.
        """
        epochs = self.epochs
        if epochs is None:
            return await self.transact(work, *args, **kwargs)
        entered: list[tuple[int, int]] = []

        async def enter(db: SqlConnection) -> T:
            if not entered:
                entered.append(epochs.entering(shard))
            await db.fetchval(ENTER, *entered[0])
            return await work(db, *args, **kwargs)

        return await self._with_faults(work_name(work), enter, lambda: self.observe_commit(*entered[0]))

    def entering(self, shard: int) -> tuple[int, int]:
        """Return the shard and its epoch: without `epochs`, that of the rows that a run begins with."""
        return (shard, 0) if self.epochs is None else self.epochs.entering(shard)

    async def transact_alone(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a transaction of one statement in a single step, with the faults of `transact`."""
        return await self.transact(work, *args, **kwargs)

    async def transact_checked(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a transaction of one statement, which checks by itself that its process may write."""
        return await self._with_faults(work_name(work), lambda db: work(db, *args, **kwargs))

    async def read(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a read in a single step."""
        name = self._label + work_name(work)
        await self._reach(name)
        if self._faults.strikes(Fault.LOST, name):
            raise self._errors.unavailable(f"{name}: connection lost")
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

    def instant(self) -> InstantDatabase:
        """Return the database of claims that read more than `rows` does."""
        return InstantDatabase(self._lockstep, self._faults, self._note)

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
            raise self._errors.unavailable(f"{name}: the database is away")

    async def _transaction(
        self, name: str, work: Callable[[SqlConnection], Awaitable[T]], *, commit: bool = True
    ) -> T:  # fmt: skip
        """Run a transaction. With `commit=False` it is rolled back at its end."""
        return self._lockstep.transact(work, commit=commit)

    async def _reading(self, name: str, work: Callable[[SqlConnection], Awaitable[T]]) -> T:
        return self._lockstep.read(work)


class InstantDatabase(LockstepDatabase):
    """The database of claims: a read is no step, and cannot fail."""

    async def read(
        self, work: Callable[Concatenate[SqlConnection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return self._lockstep.read(lambda db: work(db, *args, **kwargs))


def work_name(work: Callable[..., object]) -> str:
    """Return the name of a piece of work in traces and fault points."""
    return getattr(work, "__name__", type(work).__name__)

"""The production database: asyncpg's connections, each owned by a worker on the asyncio side, fed by a single queue.

A call from Trio costs one wake-up in each direction, for any number of statements. A worker completes a call
even when its caller is cancelled; the deadline of the call limits it.
"""

# Not strict: asyncpg and trio-asyncio, around which this module is an adapter, have no complete types.
# pyright: standard

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import asyncpg
import outcome
import trio
import trio_asyncio

from . import lock_waits
from .connect import UNAVAILABLE, connect
from .database import Connection, Doubtful, EngineConnection, Entering, Fenced, Removed, Unavailable, lone_exception
from .faults import CallTooLong, HeldUp
from .nodes import NO_ROW, REMOVED, begin_as
from .pool_numbers import PoolNumbers
from .prompt import PromptLoop, open_loop
from .shards import UNOWNED, Epochs, begin_in, moved

P = ParamSpec("P")
T = TypeVar("T")

# Seconds that a call may wait for a connection before it is refused.
PATIENCE = 2.0

# Seconds between two checks of the calls' times.
SWEEP = 0.1

# Calls that may wait. With more, the last calls could not be served in time.
MOST_WAITING = 4096

# Tries of a transaction that PostgreSQL rolled back because of another transaction.
TRIES = 3

#: Seconds between attempts to connect.
BACK_OFF = (0.05, 0.1, 0.2, 0.5, 1.0)

# Seconds before the deadline of a call at which the pool looks up who holds the lock that the call waits for.
LOOK_FOR_LOCK = 1.0

# PostgreSQL's refusals because of a lack of disk or memory, because its files fail, or because it can only be read.
REFUSED = (asyncpg.InsufficientResourcesError, asyncpg.PostgresSystemError, asyncpg.ReadOnlySQLTransactionError)

# Seconds between two attempts to find a primary at the address of a database that is read-only.
LOOK_FOR_PRIMARY = 1.0

# Errors after which a transaction is tried again.
RETRIABLE = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.InvalidCachedStatementError)

# The kind of a call: a read, a transaction, or a transaction of one statement.
Kind = Literal["read", "transaction", "statement"]

Check = Callable[[Connection], Awaitable[None]]


@dataclass(slots=True, eq=False)
class PoolCall:
    """The work of a caller on its way through the pool."""

    work: Callable[[Connection], Awaitable[object]]
    kind: Kind
    task: trio.lowlevel.Task
    asked_at: float
    shard: int | None = None  # that the transaction enters; None for a transaction of no shard's owner
    is_checked: bool = False  # the statement checks by itself that this process may write
    waiting: bool = False
    result: "outcome.Value[Any] | outcome.Error | None" = None  # `Any` is what the work returns
    started: bool = False
    committing: bool = False

    def answer(self, result: "outcome.Value[object] | outcome.Error") -> None:
        """Wake the caller. A caller that does not wait yet finds the answer here."""
        if self.waiting:
            trio.lowlevel.reschedule(self.task, result)
        else:
            self.result = result


@dataclass(slots=True, eq=False)
class Worker:
    """Owns one connection at a time."""

    connection: EngineConnection | None = None
    call: PoolCall | None = None
    busy_since: float = 0.0
    cut_because: CallTooLong | None = None  # why the connection is closed, and its call refused
    asked_for: PoolCall | None = None  # the last call for which `holder` was looked up
    holder: str | None = None  # of the lock that the call waits for; None if it waits for no lock
    outdated: bool = False  # set if its connection is replaced after the call


@dataclass(eq=False)
class ConnectionPool:
    """A Database over a fixed number of connections. Made by `open_pool`."""

    dsn: str
    size: int
    application_name: str
    check: Check | None
    deadline: float
    on_connected: Callable[[bool, BaseException | None], None] | None
    on_lost: Callable[[BaseException | None], None] | None = None
    numbers: PoolNumbers = field(default_factory=PoolNumbers)
    epochs: Epochs = UNOWNED  # of the shards that this process owns
    # Set when another node holds the term: this process must exit.
    fenced: trio.Event = field(default_factory=trio.Event)
    _calls: deque[PoolCall] = field(default_factory=deque)
    _idle: deque["asyncio.Future[None]"] = field(default_factory=deque)
    _workers: list[Worker] = field(default_factory=list)
    _loop: PromptLoop = field(init=False)
    _connected: int = 0
    _is_away: bool = True  # until a connection is open, and from the loss of the last one
    _first: trio.Event = field(default_factory=trio.Event)
    _error: BaseException | None = None
    _cause: BaseException | None = None  # of the first loss since a connection was last opened
    _held_up: CallTooLong | None = None  # why the last call was cut, while calls wait for a connection
    _looking: "set[asyncio.Task[None]]" = field(default_factory=set)  # tasks that look up the locks of slow calls
    # Set when the last connection was lost and not reported: the cause may be known only after the next attempt.
    _loss_unreported: bool = False
    _fence: Fenced | None = None
    _closed: bool = False
    # When a connection was last replaced because PostgreSQL was read-only; None while it takes writes.
    _looked_for_primary: float | None = None

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, …)` in a transaction. A cancelled caller still waits for its outcome."""
        return await self._ask(lambda db: work(db, *args, **kwargs), "transaction")

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, …)` in a transaction that enters a shard."""
        return await self._ask(lambda db: work(db, *args, **kwargs), "transaction", shard)

    def entering(self, shard: int) -> Entering:
        return self.epochs.entering(shard)

    async def transact_alone(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, …)`, which is one statement and so a transaction by itself."""
        return await self._ask(lambda db: work(db, *args, **kwargs), "statement")

    async def transact_checked(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, …)` as `transact_alone` does for a server that is alone."""
        return await self._ask(lambda db: work(db, *args, **kwargs), "statement", is_checked=True)

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work that only reads, without a transaction."""
        return await self._ask(lambda db: work(db, *args, **kwargs), "read")

    @property
    def connected(self) -> int:
        """The number of open connections."""
        return self._connected

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a connection."""
        return len(self._calls)

    @property
    def busy(self) -> int:
        """The number of connections with a call."""
        return sum(worker.call is not None for worker in self._workers)

    def rename(self, application_name: str) -> None:
        """Replace all connections by those of another name, each when its call has ended."""
        self.application_name = application_name
        for worker in self._workers:
            worker.outdated = worker.connection is not None
        self._loop.promptly(self._wake_all)

    def fence(self, error: Fenced) -> None:
        """Refuse all calls from now on, because another node holds the term."""
        self._fence = error
        self.fenced.set()
        self._refuse_waiting(error)
        for worker in self._workers:
            if worker.connection is not None:
                worker.connection.terminate()

    async def _ask(
        self, work: Callable[[Connection], Awaitable[T]], kind: Kind, shard: int | None = None, *,
        is_checked: bool = False,
    ) -> T:  # fmt: skip
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._fence is not None:
            raise Fenced(*self._fence.args)
        if self._closed or len(self._calls) >= MOST_WAITING:
            self.numbers.refused += 1
            raise Unavailable("the connection pool is closed" if self._closed else "too many calls wait for PostgreSQL")
        call = PoolCall(work, kind, trio.lowlevel.current_task(), trio.current_time(), shard, is_checked)
        self._calls.append(call)
        self._loop.promptly(self._wake_one)
        if call.result is not None:
            return call.result.unwrap()
        call.waiting = True

        def give_up(_: object) -> trio.lowlevel.Abort:
            # The caller must know how started work has ended: the outcome decides if the caller's memory is right.
            if call.started:
                return trio.lowlevel.Abort.FAILED
            self._calls.remove(call)
            return trio.lowlevel.Abort.SUCCEEDED

        return await trio.lowlevel.wait_task_rescheduled(give_up)

    def _wake_one(self) -> None:
        while self._idle:
            # The last worker to sleep: PostgreSQL has planned its statements already, and its memory is in the caches.
            sleeper = self._idle.pop()
            if not sleeper.done():
                sleeper.set_result(None)
                return

    # From here on everything runs on the asyncio side, in the same thread.

    async def _run_worker(self) -> None:
        worker = Worker()
        self._workers.append(worker)
        try:
            while self._fence is None and not self._closed:
                await self._open(worker)
                try:
                    await self._serve(worker)
                finally:
                    self._close(worker)
        except Fenced as error:
            self.fence(error)

    async def _open(self, worker: Worker) -> None:
        """Connect, and try until it succeeds or the pool is closed."""
        failures = 0
        while not self._closed:
            name = self.application_name
            try:
                worker.connection = await self._connect()
                worker.outdated = name != self.application_name
                self._count(+1)
                self._leave_standbys(worker.connection)
                return
            except UNAVAILABLE as error:
                self._error = error
            except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.TargetServerAttributeNotMatched) as error:
                # A wrong password or a missing database: an operator can correct it while the pool waits.
                self._error = error
            self._report_lost(self._error)
            await asyncio.sleep(BACK_OFF[min(failures, len(BACK_OFF) - 1)])
            failures += 1

    async def _connect(self) -> EngineConnection:
        connection = await connect(self.dsn, application_name=self.application_name, deadline=self.deadline)
        try:
            if self.check is not None:
                async with asyncio.timeout(self.deadline):
                    await self.check(connection)
        except BaseException:
            connection.terminate()
            raise
        connection.add_termination_listener(lambda _: self._wake_all())
        return connection

    def _close(self, worker: Worker) -> None:
        if worker.connection is not None:
            worker.connection.terminate()
            worker.connection = None
            if self.on_lost is not None and not self._closed and self._fence is None and not worker.outdated:
                self.numbers.lost += 1
                self.on_lost(self._cause)
            self._count(-1, replaced=worker.outdated)

    def _count(self, change: int, *, replaced: bool = False) -> None:
        self._connected += change
        if self._connected:
            self._first.set()
            if self._is_away:
                self._is_away = False
                self._report_lost(None)
                self._report(True, None)
        elif not replaced:
            self._is_away = self._loss_unreported = True
            if self._cause is not None:
                self._report_lost(self._cause)
        if change > 0:
            self._cause = None

    def _report_lost(self, cause: BaseException | None) -> None:
        if self._loss_unreported:
            self._loss_unreported = False
            self._report(False, cause)

    def _report(self, connected: bool, cause: BaseException | None) -> None:
        if self.on_connected is not None and not self._closed:
            self.on_connected(connected, cause)

    def _wake_all(self) -> None:
        while self._idle:
            self._wake_one()

    async def _serve(self, worker: Worker) -> None:
        """Take calls until the connection is gone."""
        connection = worker.connection
        while connection is not None and not (connection.is_closed() or worker.outdated or self._closed):
            if self._calls:
                call = self._calls.popleft()
                call.started = True
                worker.call, worker.busy_since = call, trio.current_time()
                result = await self._outcome(call, worker, connection)
                times = self.numbers.times[call.kind]
                times.waited.observe(worker.busy_since - call.asked_at)
                times.took.observe(trio.current_time() - worker.busy_since)
                call.answer(result)
                worker.call = worker.cut_because = None
            else:
                sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._idle.append(sleeper)
                await sleeper
        # The call for which this worker was woken must not be left in the queue.
        self._wake_one()

    async def _outcome(
        self, call: PoolCall, worker: Worker, connection: EngineConnection
    ) -> "outcome.Value[object] | outcome.Error":
        try:
            if call.kind == "read":
                return outcome.Value(await call.work(connection))
            return outcome.Value(await self._transaction(call, connection))
        except BaseException as error:
            if isinstance(error, REFUSED) and not connection.is_closed():
                # PostgreSQL itself says that nothing was done, also after COMMIT. The connection still works.
                if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                    self._look_for_primary(worker)
                return outcome.Error(self._fence or _unavailable(error))
            if isinstance(error, Removed):
                self.fence(error)
            if not _lost(error, connection):
                return outcome.Error(moved(error) or error)
            # an error that only says that the connection is closing
            if not isinstance(error, asyncpg.InternalClientError):
                self._cause = self._cause or error
            connection.terminate()
            return outcome.Error(self._fence or _lost_error(call, worker.cut_because or error))

    async def _transaction(self, call: PoolCall, connection: EngineConnection) -> object:
        begin = self._begin(call)
        for attempt in range(1, TRIES + 1):
            call.committing = False
            try:
                if begin is None:
                    return await _attempt_statement(call, connection)
                return await _attempt(call, connection, begin)
            except RETRIABLE:
                if attempt == TRIES:
                    raise
        raise AssertionError("a transaction is tried at least once")

    def _begin(self, call: PoolCall) -> str | None:
        """Return the statements that begin the transaction of a call; None for a statement that is sent alone."""
        if call.shard is not None:
            return begin_in(self.entering(call.shard))
        if self.epochs.incarnation is not None and not call.is_checked:
            return begin_as(self.epochs.incarnation)
        return "BEGIN" if call.kind == "transaction" else None

    def _look_for_primary(self, worker: Worker) -> None:
        """Replace one connection a second: after a failover, the address may lead to another server."""
        now = trio.current_time()
        if self._looked_for_primary is None or now - self._looked_for_primary > LOOK_FOR_PRIMARY:
            self._looked_for_primary = now
            worker.outdated = True

    def _leave_standbys(self, connection: EngineConnection) -> None:
        """Replace all other connections if this connection has found a primary, and the others had a standby."""
        if self._looked_for_primary is None or _is_read_only(connection):
            return
        self._looked_for_primary = None
        for other in self._workers:
            if other.connection is not None and other.connection is not connection:
                other.outdated = True
        self._wake_all()

    async def _sweep(self) -> None:
        """Refuse calls that waited too long, and close connections whose call is past its deadline."""
        while True:
            await asyncio.sleep(SWEEP)
            now = trio.current_time()
            while self._calls and now - self._calls[0].asked_at > PATIENCE:
                self.numbers.refused += 1
                self._calls.popleft().answer(outcome.Error(self._none_free()))
            if not self._calls:
                self._held_up = None
            self._cut()

    def _cut(self) -> None:
        """Close the connections of calls past their deadline. The error names the holder of the lock they wait for.

        The holder is looked up shortly before the deadline, so that the look-up does not delay the refusal.
        """
        now = trio.current_time()
        look_after = max(self.deadline / 2, self.deadline - LOOK_FOR_LOCK)
        slow: list[Worker] = []
        for worker in self._workers:
            if worker.call is None or worker.connection is None or now - worker.busy_since <= look_after:
                continue
            if worker.asked_for is not worker.call:
                worker.asked_for, worker.holder = worker.call, None
                slow.append(worker)
            elif now - worker.busy_since > self.deadline and worker.cut_because is None:
                self._cause = self._held_up = worker.cut_because = self._too_long(worker.holder)
                worker.connection.terminate()
        if slow:
            looking = asyncio.create_task(self._look_for_locks(slow))
            self._looking.add(looking)
            looking.add_done_callback(self._looking.discard)

    async def _look_for_locks(self, slow: Sequence[Worker]) -> None:
        """Note who holds the locks that the calls of these workers wait for."""
        calls = {
            worker.connection.get_server_pid(): (worker, worker.call)
            for worker in slow
            if worker.connection is not None
        }
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_FOR_LOCK):
                held = await lock_waits.holders(self.dsn, list(calls))
                for process, (worker, call) in calls.items():
                    if worker.asked_for is call:
                        worker.holder = held.get(process)

    def _too_long(self, holder: str | None) -> CallTooLong:
        if holder is not None:
            return HeldUp(f"a call waited for a lock of {holder}")
        return CallTooLong(f"a call took longer than {self.deadline:g} s")

    def _none_free(self) -> Unavailable:
        """Return the refusal of a call that waited too long for a connection.

        Its cause is the error of connecting if no connection is open, else the last call that was cut.
        """
        refusal = Unavailable("no connection to PostgreSQL was free")
        refusal.__cause__ = self._held_up if self._connected else self._error
        return refusal

    def _close_down(self) -> None:
        # Workers are cancelled and also look at `_closed`: asyncio may lose a cancellation that arrives when the
        # awaited call ends.
        self._closed = True
        for looking in self._looking:
            looking.cancel()
        self._wake_all()
        self._refuse_waiting(Unavailable("the connection pool is closed"))

    def _refuse_waiting(self, error: Exception) -> None:
        while self._calls:
            self._calls.popleft().answer(outcome.Error(error))


@asynccontextmanager
async def open_pool(
    dsn: str,
    *,
    size: int = 8,
    application_name: str = "troupe",
    check: Check | None = None,
    deadline: float = 10.0,
    on_connected: Callable[[bool, BaseException | None], None] | None = None,
    on_lost: Callable[[BaseException | None], None] | None = None,
    numbers: PoolNumbers | None = None,
    epochs: Epochs = UNOWNED,
) -> AsyncGenerator[ConnectionPool]:
    """Open `size` connections and keep them open. Yield when the first is open, or raise Unavailable.

    `check` runs on every new connection and may raise Fenced. `on_connected` is called when the last connection is lost
    (False) and when the first is back (True), `on_lost` for each lost connection. Both get the cause, or None when
    PostgreSQL closed an idle connection.
    """
    pool = ConnectionPool(
        dsn, size, application_name, check, deadline, on_connected, on_lost, numbers or PoolNumbers(), epochs
    )  # fmt: skip
    with lone_exception():
        async with open_loop() as pool._loop, trio.open_nursery() as nursery:
            for _ in range(size):
                nursery.start_soon(trio_asyncio.aio_as_trio(pool._run_worker))
            nursery.start_soon(trio_asyncio.aio_as_trio(pool._sweep))
            try:
                await _first_connection(pool)
                yield pool
            finally:
                pool._close_down()
                nursery.cancel_scope.cancel()


async def _first_connection(pool: ConnectionPool) -> None:
    with trio.move_on_after(pool.deadline):
        async with trio.open_nursery() as nursery:

            async def wait_for(event: trio.Event) -> None:
                await event.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(wait_for, pool._first)
            nursery.start_soon(wait_for, pool.fenced)
    if pool._fence is not None:
        raise Fenced(*pool._fence.args)
    if not pool._first.is_set():
        raise Unavailable(f"PostgreSQL cannot be reached: {pool._error}")


async def _attempt_statement(call: PoolCall, connection: EngineConnection) -> object:
    """Run a transaction of one statement. If the connection is lost, the statement may have committed."""
    call.committing = True
    return await call.work(connection)


async def _attempt(call: PoolCall, connection: EngineConnection, begin: str) -> object:
    try:
        if await connection.execute(begin) == NO_ROW:
            raise Removed(REMOVED)
        result = await call.work(connection)
        call.committing = True
        # A transaction whose work swallowed an error is answered with ROLLBACK here.
        if await connection.execute("COMMIT") != "COMMIT":
            call.committing = False
            raise RuntimeError("the work went on after a statement of its transaction had failed")
        return result
    except BaseException:
        await _roll_back(connection)
        raise


async def _roll_back(connection: EngineConnection) -> None:
    """End a failed transaction.

    If the rollback fails too, the connection is closed; the first error is reported.
    """
    try:
        if connection.is_in_transaction():
            await connection.execute("ROLLBACK")
    except Exception:
        connection.terminate()


def _is_read_only(connection: EngineConnection) -> bool:
    """True for a standby or a database that is set read-only. PostgreSQL reports both when a connection opens and after
    changes, so this asks nothing."""
    reported = connection.get_settings()
    return "on" in (
        getattr(reported, "in_hot_standby", ""),
        getattr(reported, "default_transaction_read_only", ""),
    )


def _lost(error: BaseException, connection: EngineConnection) -> bool:
    """True if an error is about the connection and not about the statement."""
    if isinstance(error, asyncpg.InterfaceError):
        return connection.is_closed()
    # A cancelled worker means that the pool closes. asyncpg raises the internal error for a statement on a connection
    # that is closing.
    return isinstance(error, (*UNAVAILABLE, asyncio.CancelledError, asyncpg.InternalClientError))


def _lost_error(call: PoolCall, error: BaseException) -> Exception:
    if call.committing:
        doubt = Doubtful("the connection was lost while committing")
        doubt.__cause__ = error
        return doubt
    return _unavailable(error)


def _unavailable(error: BaseException) -> Unavailable:
    unavailable = Unavailable(f"PostgreSQL is not available: {error or type(error).__name__}")
    unavailable.__cause__ = error
    return unavailable

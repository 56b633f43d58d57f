"""Real PostgreSQL under the seeded scheduler, with transactions that overlap.

`lockstep.py` makes a transaction one step, which is cheap and hides what two transactions do to each other. Here each
statement is a step. The transactions of a run have sessions of their own and commit for real, so that rows are locked,
statements wait, and two transactions may wait for each other. All tables are emptied before each run.

A statement that waits for a lock parks its task, and its PostgreSQL process is stopped (SIGSTOP). After each COMMIT and
ROLLBACK, which may release locks, the stopped processes go on one after the other, in the order in which they began to
wait, until each has an answer or waits again. So no two processes of PostgreSQL ever race for a row, and a seed decides
everything. PostgreSQL's own search for deadlocks depends on real time and is turned off: the statement that closes a
circle is cancelled in its place.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TypeVar

import trio

from .direct_connection import OpenedConnection, at_once
from .faults import Faults
from .lockstep import LockstepDatabase, OwnEpochs, SqlConnection, StorageErrors

T = TypeVar("T")

SESSIONS = 5  # of each database that work at the same time, as connections of a small pool
TRIES = 3  # of a transaction that another one has pushed aside, as in the production pool
RETRIABLE = {"40001", "40P01"}  # serialization failures and deadlocks
CANCELED = "57014"
LOOK = 0.001  # seconds of real time between two looks whether a statement has an answer or waits for a lock

BLOCKERS = "SELECT pg_blocking_pids($1)"
CANCEL = "SELECT pg_cancel_backend($1)"

TABLES = """
    SELECT c.oid::regclass::text AS name FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND pg_relation_size(c.oid) > 0
    ORDER BY name
"""
COLUMNS = """
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
SEQUENCES = "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'"

Connecting = Callable[[], Coroutine[object, object, object]]


class Victim(Exception):
    """Raised in the transaction that closed a circle of waits."""

    sqlstate = "40P01"


class Cut(Exception):
    """Raised in the work of a process that was killed."""


class SteppedSession:
    """A connection whose statements are steps, and park their task while they wait for a lock."""

    def __init__(self, sessions: Sessions, opened: OpenedConnection) -> None:
        self._sessions = sessions
        self._opened = opened
        opened.wait_before_answers(self._wait)
        self.process = opened.process
        self.direct = opened.direct
        self.connection = SteppedConnection(self)
        self.owner: OverlappingDatabase | None = None  # whose work runs here
        self._is_victim = False

    async def step(self) -> None:
        """Let other tasks run before a statement."""
        await trio.lowlevel.cancel_shielded_checkpoint()
        if self.owner is not None and self.owner.is_cut:
            raise Cut("the process was killed")

    @contextmanager
    def translated(self) -> Generator[None]:
        """Raise Victim for the error of a statement that was cancelled to end a circle of waits."""
        try:
            yield
        except Exception as error:
            if self.owner is not None and self.owner.is_cut:
                raise Cut("the process was killed") from error
            was_victim, self._is_victim = self._is_victim, False
            if was_victim and getattr(error, "sqlstate", None) == CANCELED:
                raise Victim("deadlock detected") from error
            raise

    def go_on(self) -> bool:
        """Let the process go on until its statement has an answer (True) or waits for a lock (False)."""
        self._signal(signal.SIGCONT)
        has_answer = self._has_answer()
        if not has_answer:
            self._signal(signal.SIGSTOP)
        return has_answer

    def end(self) -> None:
        """Cancel the statement, which waits for a lock, and wait for its answer."""
        self._sessions.cancel(self)
        self._signal(signal.SIGCONT)
        while not self._opened.socket.has_answer(LOOK):
            pass

    def close(self) -> None:
        self._signal(signal.SIGCONT)
        self._opened.close()

    def _wait(self) -> Awaitable[None] | None:
        return None if self._has_answer() else self._park()

    def _has_answer(self) -> bool:
        """Return True when the statement has an answer, False when it waits for a lock."""
        while not self._opened.socket.has_answer(LOOK):
            if self._sessions.blockers_of(self):
                return False
        return True

    async def _park(self) -> None:
        self._sessions.waits += 1
        if self._sessions.is_in_circle(self):
            self._sessions.circles += 1
            self._is_victim = True
            self._sessions.cancel(self)
            return
        self._signal(signal.SIGSTOP)  # it sleeps, and holds none of the locks that PostgreSQL takes for moments
        await self._sessions.park(self)

    def _signal(self, signal: signal.Signals) -> None:
        os.kill(self.process, signal)


class SteppedConnection:
    """The connection of a session, as work uses it."""

    def __init__(self, session: SteppedSession) -> None:
        self._session = session
        self._direct = session.direct

    async def fetch(self, query: str, *args: object) -> list[object]:
        await self._session.step()
        with self._session.translated():
            return await self._direct.fetch(query, *args)

    async def fetchrow(self, query: str, *args: object) -> object:
        await self._session.step()
        with self._session.translated():
            return await self._direct.fetchrow(query, *args)

    async def fetchval(self, query: str, *args: object) -> object:
        await self._session.step()
        with self._session.translated():
            return await self._direct.fetchval(query, *args)

    async def execute(self, query: str, *args: object) -> str:
        await self._session.step()
        with self._session.translated():
            return await self._direct.execute(query, *args)


async def search_no_deadlocks(connection: SqlConnection) -> None:
    """Turn PostgreSQL's own search for deadlocks off."""
    await connection.execute("SET deadlock_timeout = '1h'")


async def nothing(connection: SqlConnection) -> None:
    """Prepare nothing."""


class SessionPool:
    """The sessions of a process."""

    def __init__(self, sessions: Sequence[SteppedSession]) -> None:
        self._free = deque(sessions)
        self._waiting: deque[trio.lowlevel.Task] = deque()

    @asynccontextmanager
    async def lent(self, owner: OverlappingDatabase) -> AsyncGenerator[SteppedSession]:
        """A session for one piece of work. Callers wait in their order."""
        while not self._free:
            self._waiting.append(trio.lowlevel.current_task())
            await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)
        session = self._free.popleft()
        session.owner = owner
        try:
            yield session
        finally:
            session.owner = None
            self._free.append(session)
            if self._waiting:
                trio.lowlevel.reschedule(self._waiting.popleft())


class Sessions:
    """The sessions on one database, and a session beside them that sees which session waits for which.

    `connecting` opens a connection, as asyncpg does. Each process of a run has sessions of its own.
    """

    def __init__(self, connecting: Connecting, errors: StorageErrors) -> None:
        self.errors = errors
        self.transactions = 0  # so far that may have changed rows
        self.waits = 0  # of statements for locks, in this run
        self.circles = 0  # of waits that were broken, in this run
        self._opened = OpenedConnection(connecting(), nothing)
        self._observer = self._opened.direct
        self._connecting = connecting
        self._sessions: list[SteppedSession] = []
        self._taken = 0  # sessions, in this run
        # The tasks of sessions whose statements wait for locks, in the order in which they began to wait.
        self._parked: dict[SteppedSession, trio.lowlevel.Task] = {}
        self._seeds = self._find_seeds()

    # A run

    @contextmanager
    def run(self) -> Generator[None]:
        """A simulated run, which begins with the rows of a new server."""
        self._reset()
        self.waits = self.circles = 0
        self._taken = 0
        yield

    def open_pool(self) -> SessionPool:
        """Return the sessions of a further process of this run."""
        begin, self._taken = self._taken, self._taken + SESSIONS
        while len(self._sessions) < self._taken:
            self._sessions.append(SteppedSession(self, OpenedConnection(self._connecting(), search_no_deadlocks)))
        return SessionPool(self._sessions[begin : self._taken])

    def _find_seeds(self) -> dict[str, str]:
        """Copy the rows of a new server. Return the columns of each table that has some."""
        seeds: dict[str, str] = {}
        self.transact(lambda db: db.execute("CREATE SCHEMA seed"))
        for name in self._filled():
            seeds[name] = self.read(lambda db, name=name: db.fetchval(COLUMNS, name))
            self.transact(lambda db, name=name: db.execute(f"CREATE TABLE seed.{name} AS TABLE public.{name}"))
        return seeds

    def _filled(self) -> list[str]:
        return [row["name"] for row in self.read(lambda db: db.fetch(TABLES))]

    def _reset(self) -> None:
        names = self._filled()

        async def reset(db: SqlConnection) -> None:
            await db.execute("SET LOCAL session_replication_role = replica")
            if names:
                await db.execute(f"TRUNCATE {', '.join(names)} CASCADE")
            for name, columns in self._seeds.items():
                copy = f"INSERT INTO public.{name} ({columns}) SELECT {columns} FROM seed.{name}"  # noqa: S608 - names of the catalogue
                await db.execute(copy)
            await db.fetch(SEQUENCES)

        self.transact(reset)

    # Work outside of the schedule

    def transact(self, work: Callable[[SqlConnection], Awaitable[T]], *, commit: bool = True) -> T:
        """Run `work` to its end in a transaction of the observer, while no other task runs."""

        async def transaction() -> T:
            await self._observer.execute("BEGIN")
            try:
                value = await work(self._observer)
            except BaseException:
                await self._observer.execute("ROLLBACK")
                raise
            await self._observer.execute("COMMIT" if commit else "ROLLBACK")
            return value

        self.transactions += 1
        return at_once(transaction())

    def read(self, work: Callable[[SqlConnection], Awaitable[T]]) -> T:
        """Run `work` that only reads to its end, while no other task runs."""

        async def reading() -> T:
            return await work(self._observer)

        return at_once(reading())

    # Sessions

    async def transaction(
        self, session: SteppedSession, *, work: Callable[[SqlConnection], Awaitable[T]], commit: bool
    ) -> T:  # fmt: skip
        """Run a transaction. Without `commit` it is rolled back at its end."""
        db = session.connection
        try:
            await db.execute("BEGIN")
            value = await work(db)
            await session.step()
        except BaseException:
            await session.direct.execute("ROLLBACK")  # no step: PostgreSQL does it when a process has died
            self._go_on()
            raise
        await session.direct.execute("COMMIT" if commit else "ROLLBACK")
        self.transactions += 1
        self._go_on()
        return value

    async def park(self, session: SteppedSession) -> None:
        """Wait until the session's statement, which waits for a lock, has an answer."""
        self._parked[session] = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)

    def end_waits(self, owner: OverlappingDatabase) -> None:
        """End the statements of a process that wait for locks."""
        for session in [session for session in self._parked if session.owner is owner]:
            session.end()
            trio.lowlevel.reschedule(self._parked.pop(session))

    def _go_on(self) -> None:
        """Let parked statements go on that have got their locks."""
        before: list[list[int]] = []
        while before != (waits := [self.blockers_of(session) for session in self._parked]):
            before = waits
            for session in [session for session in self._parked if session.go_on()]:
                trio.lowlevel.reschedule(self._parked.pop(session))

    def blockers_of(self, session: SteppedSession) -> list[int]:
        return self.read(lambda db: db.fetchval(BLOCKERS, session.process))

    def is_in_circle(self, session: SteppedSession) -> bool:
        """True if the session waits for itself, directly or through others."""
        by_process = {other.process: other for other in self._sessions}
        seen: set[int] = set()
        ahead = self.blockers_of(session)
        while ahead:
            process = ahead.pop()
            if process == session.process:
                return True
            if process not in seen and process in by_process:
                seen.add(process)
                ahead += self.blockers_of(by_process[process])
        return False

    def cancel(self, session: SteppedSession) -> None:
        self.read(lambda db: db.fetchval(CANCEL, session.process))

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        self._opened.close()


class OverlappingDatabase(LockstepDatabase):
    """The engine's Database for a simulated run, with transactions that overlap, and the faults of LockstepDatabase."""

    def __init__(
        self, sessions: Sessions, faults: Faults, note: Callable[[str], None], label: str = "",
        epochs: OwnEpochs | None = None,
    ) -> None:  # fmt: skip
        super().__init__(sessions, faults, note, label, epochs)
        self._sessions = sessions
        self._pool = sessions.open_pool()
        self.is_cut = False

    @property
    def waits(self) -> int:
        """The number of statements of the run that have waited for a lock."""
        return self._sessions.waits

    @property
    def circles(self) -> int:
        """The number of circles of waits of the run, each broken by undoing a transaction, which was tried again."""
        return self._sessions.circles

    def cut(self) -> None:
        """End all work, as the death of the process does. What is committed stays."""
        self.is_cut = True
        self._sessions.end_waits(self)

    def restore(self) -> None:
        """Take the work of the next process."""
        self.is_cut = False

    async def _transaction(
        self, name: str, work: Callable[[SqlConnection], Awaitable[T]], *, commit: bool = True
    ) -> T:  # fmt: skip
        """Run a transaction, each statement of which is a step. It is tried again after a deadlock."""
        for attempt in range(1, TRIES + 1):
            try:
                return await self._to_its_end(name, partial(self._sessions.transaction, work=work, commit=commit))
            except Exception as error:
                if attempt == TRIES or getattr(error, "sqlstate", None) not in RETRIABLE:
                    raise
        raise AssertionError("a transaction is tried at least once")

    async def _reading(self, name: str, work: Callable[[SqlConnection], Awaitable[T]]) -> T:
        """Run a read, each statement of which is a step."""
        return await self._to_its_end(name, lambda session: work(session.connection))

    async def _to_its_end(self, name: str, work: Callable[[SteppedSession], Awaitable[T]]) -> T:
        """Run work on a session. It is not cancelled, as in the production pool: callers must know how it has ended."""
        found: list[T] = []
        with trio.CancelScope(shield=True):
            async with self._pool.lent(self) as session:
                try:
                    found.append(await work(session))
                except Cut as cut:
                    raise self._errors.unavailable(f"{name}: {cut}") from cut
        return found[0]

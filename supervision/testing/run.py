"""A run of a scenario, as the scenario sees it: its faults, its claims, and its time of day.

A claim has three forms:

always       holds after every step of every run
eventually   holds at some time after the scenario's last line
sometimes    was true in at least one run of the series: it shows that the seeds reach the interesting schedules
"""

from __future__ import annotations

import inspect
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Protocol, TypeVar, TypeVarTuple, Unpack

import trio
from trio.testing import MockClock

from .faults import Faults, Plan
from .lockstep import Lockstep, LockstepDatabase, OwnEpochs
from .overlapping import OverlappingDatabase, Sessions
from .scheduler import Outside, Scheduler

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
P = TypeVar("P", Lockstep, Sessions)


class Go(Protocol):
    """Starts a function beside the others. `name` is its name in the trace."""

    def __call__(
        self, function: Callable[[Unpack[Ts]], Awaitable[object]], /, *args: *Ts, name: str | None = None
    ) -> None: ...


class Run:
    """Time, chance, storage, faults and claims of a run. A scenario gets this, or a world built on it."""

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        seed: int,
        plan: Plan,
        sometimes: Sometimes,
    ) -> None:
        self.seed = seed
        self.clock = VirtualClock(scheduler.clock)
        self.random = random.Random(f"world/{seed}")
        self.faults = Faults(plan, scheduler.note)
        self.postgres: Callable[[], Lockstep] | None = None  # set by a world whose scenarios use PostgreSQL
        self._scheduler = scheduler
        self._sometimes = sometimes
        self._eventually: list[Eventually] = []
        self._open = ExitStack()
        self._databases: list[object] = []  # that are open

    def clock_of(self, offset: float) -> VirtualClock:
        """Return the clock of a machine whose time of day is ahead of `clock` by so many seconds, or behind."""
        return VirtualClock(self._scheduler.clock, offset)

    # The functions for the actor runtime

    def chooser(self, pause: str) -> Callable[[Sequence[str]], int]:
        """Return the function that chooses the next turn. `pause` is the option of letting other tasks run."""
        return partial(self._scheduler.choose, pause=pause)

    @cached_property
    def database(self) -> LockstepDatabase:
        """PostgreSQL in lockstep, as it was before every run."""
        if self.postgres is None:
            raise LookupError("this world has no database: its `run.postgres` is not set")
        return self.open_database(self.postgres)

    def open_database(
        self, postgres: Callable[[], Lockstep], label: str = "", epochs: OwnEpochs | None = None
    ) -> LockstepDatabase:  # fmt: skip
        """Return the database of a process, for a world with several. `label` begins its names in traces and faults.

        Processes with the same `postgres` have the same rows.
        """
        lockstep = self._opened(postgres)
        return LockstepDatabase(lockstep, self.faults, self._scheduler.note, label, epochs)

    def open_overlapping(
        self, postgres: Callable[[], Sessions], label: str = "", epochs: OwnEpochs | None = None
    ) -> OverlappingDatabase:
        """Return the database of a process, with transactions that overlap, also with those of other processes."""
        with Outside():
            sessions = self._opened(postgres)
            return OverlappingDatabase(sessions, self.faults, self._scheduler.note, label, epochs)

    def _opened(self, postgres: Callable[[], P]) -> P:
        """Return a PostgreSQL in its state at the beginning of the run."""
        with Outside():
            found = postgres()
        if found not in self._databases:
            self._open.enter_context(found.run())
            self._databases.append(found)
        return found

    # Nodes: the tasks whose names begin with the same label

    def add_label(self, label: str) -> None:
        """Make a label of the names of tasks, such as `n1 `, that the tasks in their nurseries inherit.

        Tasks that have run before keep their names.
        """
        self._scheduler.add_label(label)

    def freeze(self, label: str) -> None:
        """Let no task with this label run, as after SIGSTOP: time passes for them too, and deadlines are noticed late.

        Freeze a node from a task outside of it. The end of a run waits for a frozen node, so thaw it before.
        """
        self._scheduler.freeze(label)

    def thaw(self, label: str) -> None:
        """Let the tasks with this label run again. If they are not frozen, do nothing."""
        self._scheduler.thaw(label)

    # The claims of a scenario

    def note(self, what: str, who: str | None = None) -> None:
        """Add a line to the trace. It must have no id() and no real time: equal seeds must give equal traces."""
        self._scheduler.note(what, who)

    def always(self, predicate: Predicate, name: str | None = None) -> None:
        """Claim that `predicate` holds after every step from now on: it neither returns False nor raises."""
        self._scheduler.checks.append(asserting(predicate, name or name_of(predicate)))

    def eventually(self, predicate: Predicate, name: str | None = None, *, within: float = 60.0) -> None:
        """Claim that `predicate` comes true within so many virtual seconds after the scenario's last line."""
        self._eventually.append(Eventually(predicate, name or name_of(predicate), within))

    def sometimes(self, happened: bool, name: str) -> None:
        """Claim that `happened` is true here in at least one run of the whole series."""
        self._sometimes.record(name, happened)

    @asynccontextmanager
    async def together(self) -> AsyncGenerator[Go]:
        """Start functions beside each other: `go(function, …)`. The block ends when all have ended."""
        async with trio.open_nursery() as nursery:

            def go(function: Callable[[Unpack[Ts]], Awaitable[object]], /, *args: *Ts, name: str | None = None) -> None:
                nursery.start_soon(function, *args, name=name)

            yield go

    async def quiet(self) -> None:
        """Wait until no task can go on without time passing."""
        await trio.testing.wait_all_tasks_blocked()

    # For the code that plays the scenario

    @contextmanager
    def opened(self) -> Generator[None]:
        """Free the run's resources at the end."""
        with self._open:
            yield

    async def settle(self) -> None:
        """Wait for the `eventually` claims after the scenario's last line."""
        for claim in self._eventually:
            await claim.wait_until_true()


# Virtual seconds between two checks of an `eventually` that does not hold yet.
LOOK_AGAIN = 0.25

Predicate = Callable[[], bool | None]


class Broken(AssertionError):
    """Raised when a claim of the scenario does not hold."""


class Sometimes:
    """The `sometimes` claims of a series of runs, and the claims that came true."""

    def __init__(self) -> None:
        self._seen: dict[str, bool] = {}

    def record(self, name: str, happened: bool) -> None:
        self._seen[name] = self._seen.get(name, False) or happened

    @property
    def never(self) -> list[str]:
        """Return the claims that no run has shown."""
        return [name for name, happened in self._seen.items() if not happened]


@dataclass(frozen=True, slots=True)
class Eventually:
    """A claim about the end, and the virtual seconds in which it must come true."""

    predicate: Predicate
    name: str
    within: float

    async def wait_until_true(self) -> None:
        deadline = trio.current_time() + self.within
        while self.predicate() is False:
            if trio.current_time() >= deadline:
                raise Broken(f"not true within {self.within:g} s of the end: {self.name}")
            await trio.sleep(LOOK_AGAIN)


def asserting(predicate: Predicate, name: str) -> Callable[[], None]:
    """Return a predicate that raises in place of returning False."""

    def check() -> None:
        if predicate() is False:
            raise Broken(f"not always true: {name}")

    return check


def name_of(predicate: Predicate) -> str:
    """Return a function's name, or the place of a lambda, which has none."""
    name = getattr(predicate, "__name__", repr(type(predicate)))
    if name != "<lambda>":
        return name
    code = inspect.unwrap(predicate).__code__
    return f"the condition at {code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"


MORNING = datetime(2026, 5, 4, 8, tzinfo=UTC)


class VirtualClock:
    """The kernel's Clock on Trio's mock time, so that rows and deadlines agree on the time.

    The time of day is ahead by `offset` seconds. Durations are those of Trio's clock.
    """

    def __init__(self, clock: MockClock, offset: float = 0.0) -> None:
        self._clock = clock
        self._offset = offset

    def now(self) -> datetime:
        return MORNING + timedelta(seconds=self._clock.current_time() + self._offset)

    def monotonic(self) -> float:
        return self._clock.current_time()

"""One run of a scenario, as the scenario sees it."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import cached_property, partial
from typing import Protocol, TypeVar, TypeVarTuple, Unpack

import trio

from .checks import Eventually, Predicate, Sometimes, asserting, name_of
from .clock import VirtualClock
from .faults import Faults, Plan
from .lockstep import Lockstep, LockstepDatabase
from .scheduler import Outside, Scheduler

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Go(Protocol):
    """Starts a function beside the others. `name` is its name in the trace."""

    def __call__(
        self, function: Callable[[Unpack[Ts]], Awaitable[object]], /, *args: *Ts, name: str | None = None
    ) -> None: ...


class Run:
    """Time, chance, storage, faults and claims of one run. A scenario gets this, or a world built on it."""

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

    def open_database(self, postgres: Callable[[], Lockstep], label: str = "") -> LockstepDatabase:
        """Return a database of its own, for a world with several. `label` begins its names in traces and faults."""
        with Outside():
            lockstep = postgres()
        self._open.enter_context(lockstep.run())
        return LockstepDatabase(lockstep, self.faults, self._scheduler.note, label)

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

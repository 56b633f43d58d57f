"""A scenario, played with many seeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .faults import NOTHING, RATES, Budget, Chance, Plan, Planned, Point, never
from .isolation import NotSimulated
from .outcome import Outcome, simulate
from .run import Run, Sometimes
from .scheduler import Scheduler
from .shrink import Shrinker
from .strategies import Pct, RandomWalk, Replay, Strategy
from .trace import Line, parting

# Returns a strategy for a seed and, if it asks, the number of choices in a run without faults and switches.
STRATEGIES: dict[str, Callable[[int, Callable[[], int]], Strategy]] = {
    "calm": lambda seed, steps: Replay(),
    "random": lambda seed, steps: RandomWalk(seed),
    "pct": lambda seed, steps: Pct(seed, steps=steps()),
}


# One of so many seeds is played twice, with its first strategy. A real clock or an id() in the trace makes
# nearly every run differ, so that a sample finds it; playing all runs twice would double the time of the tests.
REPLAY_EVERY = 16


class DoesNotReplay(AssertionError):
    """Raised when the same seed gave two different traces: code in the run takes decisions from outside of it."""


@dataclass(frozen=True)
class PlayedSeed:
    """A run, and the values to replay it."""

    seed: int
    strategy: str
    outcome: Outcome[None]
    passed: list[Point]
    struck: list[Point]

    @property
    def choices(self) -> list[int]:
        return self.outcome.choices

    @property
    def error(self) -> BaseException | None:
        return self.outcome.error

    @property
    def trace(self) -> list[Line]:
        return self.outcome.trace


@dataclass(frozen=True)
class FailedSeed:
    """The first failed run, and the smallest run that fails alike."""

    first: PlayedSeed
    shrunk: PlayedSeed
    runs: int  # of the shrinking


@dataclass
class Series:
    """A scenario and the way to play it.

    `world` makes the scenario's argument out of a Run; `budget` limits the faults of a run.
    """

    # `Any`: the type that a world yields differs from world to world.
    scenario: Callable[[Any], Awaitable[None]]
    world: Callable[[Run], AbstractAsyncContextManager[Any]]  # as in `scenario`
    budget: Budget = NOTHING
    time_is_a_choice: bool = False
    step_limit: int = 100_000
    shrinks: bool = True
    sometimes: Sometimes = field(default_factory=Sometimes)
    _replayed: set[int] = field(default_factory=set[int], init=False)

    def play(self, seed: int, strategy: str, plan: Plan, choices: Sequence[int] | None = None) -> PlayedSeed:
        """Play a run. With `choices`, they replace the strategy's."""
        runs: list[Run] = []

        async def main(scheduler: Scheduler) -> None:
            run = Run(scheduler, seed=seed, plan=plan, sometimes=self.sometimes)
            runs.append(run)
            with run.opened():
                async with self.world(run) as world:
                    await self.scenario(world)
                    await run.settle()

        made = Replay(choices) if choices is not None else STRATEGIES[strategy](seed, self._calm_steps)
        outcome = simulate(main, made, time_is_a_choice=self.time_is_a_choice, step_limit=self.step_limit)
        return PlayedSeed(seed, strategy, outcome, runs[0].faults.passed, runs[0].faults.struck)

    def play_seed(self, seed: int, strategy: str) -> PlayedSeed:
        """Play the run of a seed. It is played twice if it fails, and for a sample of the seeds."""

        def plan() -> Plan:
            return Chance(seed, self.budget, self._calm_points)

        played = self.play(seed, strategy, plan())
        in_sample = seed % REPLAY_EVERY == 0 and seed not in self._replayed
        if not isinstance(played.error, NotSimulated) and (played.error is not None or in_sample):
            self._replayed.add(seed)
            self._replay(played, plan())
        return played

    def play_all(self, seeds: Iterable[int], strategies: Sequence[str]) -> FailedSeed | None:
        """Play every seed with every strategy, up to the first that fails."""
        if self.calm.error is not None:
            return FailedSeed(self.calm, self.calm, 0)
        return self.play_pinned((seed, strategy) for seed in seeds for strategy in strategies)

    def play_pinned(self, pinned: Iterable[tuple[int, str]]) -> FailedSeed | None:
        """Play these seeds with these strategies, up to the first that fails."""
        for seed, strategy in pinned:
            played = self.play_seed(seed, strategy)
            if played.error is not None:
                return self._shrunk(played)
        return None

    def sweep(self, seeds: Iterable[int], strategy: str) -> FailedSeed | None:
        """Make each fault point of a run without faults fail, in a run of its own."""
        for seed in seeds:
            untouched = self.play(seed, strategy, never)
            self._replay(untouched, never)
            if untouched.error is not None:
                return self._shrunk(untouched)
            for point in untouched.passed:
                if point.fault not in self.budget.kinds:
                    continue
                played = self.play(seed, strategy, Planned([point]))
                if played.error is not None:
                    return self._shrunk(played)
        return None

    def _replay(self, played: PlayedSeed, plan: Plan) -> None:
        """Play a run again, with its plan made anew. Raises DoesNotReplay when the traces differ."""
        again = self.play(played.seed, played.strategy, plan)
        if played.outcome.digest != again.outcome.digest:
            where = parting(played.trace, again.trace)
            raise DoesNotReplay(f"seed {played.seed}, strategy {played.strategy}: {where}") from played.error

    def _shrunk(self, first: PlayedSeed) -> FailedSeed:
        # Other threads may act at other times when the run is played again, and waiting for a thread takes seconds.
        if not self.shrinks or isinstance(first.error, NotSimulated):
            return FailedSeed(first, first, 0)

        def play(choices: Sequence[int], faults: Sequence[Point]) -> PlayedSeed:
            return self.play(first.seed, first.strategy, Planned(faults), choices)

        shrinker = Shrinker(play, first)
        return FailedSeed(first, shrinker.shrink(), shrinker.runs)

    # The size of a run without faults and without switches: it decides how far apart demotions and faults are.

    @cached_property
    def calm(self) -> PlayedSeed:
        return self.play(0, "calm", never, choices=())

    def _calm_steps(self) -> int:
        return len(self.calm.choices)

    @property
    def _calm_points(self) -> int:
        kinds = self.budget.kinds - RATES.keys()
        return sum(1 for point in self.calm.passed if point.fault in kinds)

"""`@simulation` makes an ordinary pytest test out of a scenario.

    @simulation(seeds=200, faults=2)
    async def test_a_retry_posts_once(sim: Simulation) -> None:
        …

Every seed is played with every strategy. A run that fails, and that of every sixteenth seed with the first strategy, is
played twice, and both traces must be equal. The environment decides how much:

    TROUPE_SIM_SEED and TROUPE_SIM_STRATEGY   play this run alone
    TROUPE_SIM_SEEDS                          so many seeds instead of the test's own numbers
    TROUPE_SIM_BASE                           the first seed: other numbers, other schedules
"""

from __future__ import annotations

import functools
import inspect
import os
import reprlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Concatenate, NoReturn, ParamSpec

from .faults import ANYTHING, Budget
from .replay import is_replay, replay_lines, write_signature
from .report import report, summary
from .run import Run, Sometimes
from .series import FailedSeed, Series

P = ParamSpec("P")
WorldScenario = Callable[[Any], Awaitable[None]]  # a scenario without further parameters
Scenario = Callable[Concatenate[Any, P], Awaitable[None]]  # its first parameter is the value that the world yields
World = Callable[[Run], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def bare(run: Run) -> AsyncGenerator[Run]:
    """A world with nothing but the run itself."""
    yield run


@dataclass(frozen=True, slots=True)
class RequestedSeeds:
    """The seeds that the environment asks for: `seeds`, and `more` as long as a `sometimes` was not seen."""

    seeds: range
    more: range
    strategies: Sequence[str]
    alone: bool

    @classmethod
    def from_environment(cls, seeds: int, strategies: Sequence[str], at_most: int = 0) -> RequestedSeeds:
        if seed := os.environ.get("TROUPE_SIM_SEED"):
            strategy = os.environ.get("TROUPE_SIM_STRATEGY")
            return cls(range(int(seed), int(seed) + 1), range(0), (strategy,) if strategy else strategies, alone=True)
        base = int(os.environ.get("TROUPE_SIM_BASE", "0"))
        if count := os.environ.get("TROUPE_SIM_SEEDS"):
            seeds = at_most = int(count)
        return cls(range(base, base + seeds), range(base + seeds, base + at_most), strategies, alone=False)

    def until_seen(self, sometimes: Sometimes) -> Iterator[int]:
        yield from self.seeds
        yield from takewhile(lambda _: sometimes.never, self.more)


def simulation(
    *,
    seeds: int = 200,
    at_most: int = 0,
    strategies: Sequence[str] = ("random", "pct"),
    pinned: Sequence[tuple[int, str]] = (),
    faults: int | Budget = 0,
    time_is_a_choice: bool = False,
    step_limit: int = 100_000,
    world: World = bare,
) -> Callable[[Scenario[P]], Callable[P, None]]:
    """Play the scenario with many seeds. Fail with the first failing run, shrunk and with the command that replays it.

    As long as a `sometimes` was not seen, more seeds are played, up to `at_most`. `pinned` are seeds with their
    strategies that found a bug once, also a planted one, or that show a rare `sometimes`; they are played first, unless
    the environment asks for one run. `faults` is the highest number of faults in a run, or a Budget that also names
    their kinds.
    """

    def play(series: Series) -> FailedSeed | None:
        wanted = RequestedSeeds.from_environment(seeds, strategies, at_most)
        failure = None if wanted.alone else series.play_pinned(pinned)
        failure = failure or series.play_all(wanted.until_seen(series.sometimes), wanted.strategies)
        if failure is None and not wanted.alone and series.sometimes.never:
            runs = (len(wanted.seeds) + len(wanted.more)) * len(wanted.strategies)
            fail(f"never happened in {runs} runs: {', '.join(series.sometimes.never)}")
        return failure

    def make(scenario: WorldScenario) -> Series:
        budget = faults if isinstance(faults, Budget) else Budget(faults)
        return Series(scenario, world, budget, time_is_a_choice, step_limit, shrinks=not is_replay())

    return as_test(make, play)


def sweep(
    *,
    seeds: int = 1,
    strategy: str = "calm",
    faults: Budget = ANYTHING,
    step_limit: int = 100_000,
    world: World = bare,
) -> Callable[[Scenario[P]], Callable[P, None]]:
    """Make every fault point of the scenario fail, each in a run of its own."""

    def play(series: Series) -> FailedSeed | None:
        wanted = RequestedSeeds.from_environment(seeds, (strategy,))
        return series.sweep(wanted.seeds, wanted.strategies[0])

    def make(scenario: WorldScenario) -> Series:
        return Series(scenario, world, faults, step_limit=step_limit, shrinks=not is_replay())

    return as_test(make, play)


def as_test(
    make: Callable[[WorldScenario], Series], play: Callable[[Series], FailedSeed | None]
) -> Callable[[Scenario[P]], Callable[P, None]]:
    """Return a decorator that makes pytest see a plain function with all of the scenario's fixtures but the first."""

    def decorate(scenario: Scenario[P]) -> Callable[P, None]:
        @functools.wraps(scenario)
        def test(*args: P.args, **kwargs: P.kwargs) -> None:
            failure = play(make(lambda world: scenario(world, *args, **kwargs)))
            if failure is None:
                return
            if is_replay():
                write_signature(failure.first)
                fail(summary(failure.first.error))
            name = running_test(scenario)
            bound = signature.bind(None, *args, **kwargs).arguments
            given = dict(list(bound.items())[1:])
            fail(report(failure, name, shown(given), replay_lines(failure, name, scenario)))

        signature = inspect.signature(scenario)
        fixtures = list(signature.parameters.values())[1:]
        # pytest reads attributes that a function does not have by its type.
        visible: Any = test
        visible.__signature__ = signature.replace(parameters=fixtures, return_annotation=None)
        return test

    return decorate


def shown(arguments: Mapping[str, object]) -> str:
    """Return the arguments of a test, without fixtures that say nothing of themselves but their address."""
    readable = {name: value for name, value in arguments.items() if " at 0x" not in repr(value)}
    return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in readable.items())


def fail(text: str) -> NoReturn:
    """Fail the running test with this text alone."""
    import pytest  # late: the kit works where pytest is not installed

    pytest.fail(text, pytrace=False)


def running_test(scenario: Callable[..., object]) -> str:
    """Return pytest's name of the running test."""
    current = os.environ.get("PYTEST_CURRENT_TEST")
    return current.rsplit(" ", 1)[0] if current else scenario.__qualname__

"""Run a scenario once, under a strategy and in virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

import trio
from trio.testing import MockClock

from .errors import exit_among, innermost
from .isolation import isolated
from .scheduler import Decision, Scheduler, in_charge
from .strategies import Replay, Strategy
from .trace import Line, digest

T = TypeVar("T")
Main = Callable[[Scheduler], Awaitable[T]]


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The outcome of a run."""

    decisions: list[Decision]
    trace: list[Line]
    steps: int
    value: T | None = None
    error: BaseException | None = field(default=None)

    @property
    def choices(self) -> list[int]:
        """The choices from which `Replay` repeats the run."""
        return [decision.taken for decision in self.decisions]

    @cached_property
    def digest(self) -> str:
        """A hash that is equal for equal traces."""
        return digest(self.trace)


def simulate(
    main: Main[T], strategy: Strategy, *, time_is_a_choice: bool = False, step_limit: int = 100_000
) -> Outcome[T]:
    """Run `main(scheduler)` with every choice made by `strategy`.

    Time is virtual and jumps when all tasks wait; with `time_is_a_choice` it may also pass under tasks that could run,
    so that a deadline can win against an answer that is ready. An exception is the outcome's `error` and is not raised,
    except for Ctrl-C, SystemExit, `pytest.skip` and `pytest.exit`.
    """
    clock = MockClock(autojump_threshold=0)
    scheduler = Scheduler(strategy, clock, time_is_a_choice=time_is_a_choice, step_limit=step_limit)
    value: T | None = None
    error: BaseException | None = None

    async def scenario() -> None:
        nonlocal value
        with scheduler.scope:
            value = await main(scheduler)

    with in_charge(scheduler), isolated(scheduler):
        try:
            trio.run(scenario, clock=clock, instruments=[scheduler])
        except BaseException as raised:
            error = raised
    # A thread may have been refused after the last step.
    failure = scheduler.error or next(iter(scheduler.refusals), None)
    for raised in (failure, error):
        if exit := exit_among(raised):
            raise exit
    return Outcome(
        scheduler.decisions,
        scheduler.trace,
        scheduler.steps,
        value,
        failure or innermost(error) or scheduler.waits_for_frozen,
    )


def explore(
    main: Main[T], *, preemptions: int | None = None, limit: int = 100_000, time_is_a_choice: bool = False
) -> Iterator[Outcome[T]]:
    """Return an outcome for every possible interleaving, at most `limit` outcomes.

    Depth first and without keeping state: each run replays a prefix and then stays with the running task. With
    `preemptions`, only schedules with at most so many switches away from a task that could have gone on (CHESS: two
    find most bugs).
    """
    prefixes: list[list[int]] = [[]]
    for _ in range(limit):
        if not prefixes:
            return
        prefix = prefixes.pop()
        outcome = simulate(main, Replay(prefix), time_is_a_choice=time_is_a_choice)
        yield outcome
        prefixes.extend(branches(outcome.decisions, len(prefix), preemptions))


def branches(decisions: list[Decision], start: int, preemptions: int | None) -> Iterator[list[int]]:
    """Return the prefixes that take another option at one step after `start`, within the bound."""
    choices = [decision.taken for decision in decisions]
    spent = 0
    for step, (taken, width, stay) in enumerate(decisions):
        affordable = preemptions is None or not stay or spent < preemptions
        if step >= start and affordable:
            yield from ([*choices[:step], other] for other in range(1, width))
        spent += stay and taken != 0

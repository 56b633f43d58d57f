"""Turns in simulation: answered at once or by the drainer, one by one or in batches, as the strategy chooses."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import pytest
import trio
import trio.lowlevel
import trio.testing

from troupe.actors.kernel import Actor, Address, Message, Runtime, turn
from troupe.actors.kernel.pool_context import PAUSE
from troupe.supervision.testing import Pct, RandomWalk, Replay, Run, Scheduler, Strategy, simulate, simulation


@dataclass(frozen=True, slots=True)
class Call(Message[object]):
    """A message whose turn is the function it carries."""

    function: Callable[[], object]


class Phone(Actor):
    """Does what it is called for."""


@turn(Phone, Call)
def answer(actor: Phone, message: Call) -> object:
    return message.function()


@asynccontextmanager
async def phones(choose: Callable[..., int], *numbers: str) -> AsyncGenerator[Runtime]:
    """A runtime in which these are awake and at rest."""
    runtime = Runtime(record=lambda event, **facts: None, chance=lambda: 0.0, choose=choose)
    pool = runtime.add("phone", Phone, lambda cell: Phone(cell, runtime))
    async with trio.open_nursery() as nursery:
        await nursery.start(pool.run, trio.Event())
        for number in numbers:
            await runtime.ask(Address("phone", number), Call(lambda: None))
        yield runtime
        nursery.cancel_scope.cancel()


def task_name() -> str:
    return trio.lowlevel.current_task().name


@simulation(seeds=30)
async def test_an_ask_is_answered_at_once_in_some_runs_and_by_the_drainer_in_others(run: Run) -> None:
    async with phones(run.chooser(PAUSE), "1") as runtime:
        who = await runtime.ask(Address("phone", "1"), Call(task_name))
    run.sometimes(who == task_name(), "answered at once")
    run.sometimes(who == "phone: drainer", "answered by the drainer")


class Steps(trio.abc.Instrument):
    """Counts the steps of all tasks."""

    def __init__(self) -> None:
        self.count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += 1


@simulation(seeds=30)
async def test_turns_are_taken_in_one_step_in_some_runs_and_in_several_in_others(run: Run) -> None:
    steps = Steps()
    taken_in: list[int] = []
    trio.lowlevel.add_instrument(steps)
    async with phones(run.chooser(PAUSE), "1", "2", "3") as runtime:
        for number in "123":
            runtime.tell(Address("phone", number), Call(lambda: taken_in.append(steps.count)))
        await run.quiet()
    run.sometimes(len(set(taken_in)) == 1, "three turns in one step")
    run.sometimes(len(set(taken_in)) == 3, "each turn in a step of its own")


async def a_chain_of_asks(scheduler: Scheduler) -> None:
    async with phones(partial(scheduler.choose, pause=PAUSE), "1") as runtime:
        for number in range(200):
            scheduler.note(f"asks {number}")
            await runtime.ask(Address("phone", "1"), Call(lambda: None))


async def a_chain_of_messages(scheduler: Scheduler) -> None:
    """An actor that tells itself to go on."""
    async with phones(partial(scheduler.choose, pause=PAUSE), "1") as runtime:

        def go_on(left: int) -> None:
            scheduler.note(f"has {left} to go")
            if left:
                runtime.tell(Address("phone", "1"), Call(lambda: go_on(left - 1)))

        go_on(200)
        await trio.testing.wait_all_tasks_blocked()


@pytest.mark.parametrize("chain", [a_chain_of_asks, a_chain_of_messages])
def test_a_chain_of_turns_is_cut_into_steps_even_in_the_calmest_schedule(
    chain: Callable[[Scheduler], Awaitable[None]],
) -> None:
    """Else one that never ends would be a step that never ends, and no step limit would find it."""
    calm = simulate(chain, Replay())
    assert calm.error is None
    assert 200 / 50 <= calm.steps <= 200 / 2


@pytest.mark.parametrize("chain", [a_chain_of_asks, a_chain_of_messages])
@pytest.mark.parametrize("strategy", [RandomWalk, partial(Pct, steps=50)], ids=["random", "pct"])
def test_a_chain_of_turns_replays(
    chain: Callable[[Scheduler], Awaitable[None]], strategy: Callable[[int], Strategy]
) -> None:
    first, again = (simulate(chain, strategy(3)) for _ in range(2))
    assert first.error is None
    assert first.digest == again.digest == simulate(chain, Replay(first.choices)).digest

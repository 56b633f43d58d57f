from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from math import comb

import pytest
import trio

from troupe.supervision.testing import (
    Deadlock,
    Livelock,
    Pct,
    RandomWalk,
    Replay,
    Scheduler,
    Strategy,
    explore,
    simulate,
)
from troupe.supervision.testing.outcome import Main


async def five_tracers(scheduler: Scheduler) -> str:
    steps: list[str] = []

    async def tracer(letter: str) -> None:
        for step in range(10):
            steps.append(f"{letter}{step}")
            await trio.sleep(0.01 * (ord(letter) - 96) if step == 5 else 0)

    async with trio.open_nursery() as nursery:
        for letter in "abcde":
            nursery.start_soon(tracer, letter, name=f"tracer-{letter}")
    return " ".join(steps)


async def everything_trio_keeps_in_sets(scheduler: Scheduler) -> str:
    """Cancellation, equal deadlines, an event with many waiters, a channel, a lock."""
    log: list[str] = []
    event, lock = trio.Event(), trio.Lock()
    send, receive = trio.open_memory_channel[int](2)

    async def waiter(n: int) -> None:
        with trio.move_on_after(5):
            await event.wait()
            async with lock:
                log.append(f"w{n}")
                await send.send(n)

    async def reader() -> None:
        async for item in receive:
            log.append(f"r{item}")

    async def sleeper(n: int) -> None:
        with trio.move_on_after(1) as scope:
            await trio.sleep_forever()
        log.append(f"s{n}")
        if scope.cancelled_caught and n == 9:
            event.set()

    async with trio.open_nursery() as outer:
        outer.start_soon(reader)
        async with trio.open_nursery() as nursery:
            for n in range(10):
                nursery.start_soon(waiter, n)
                nursery.start_soon(sleeper, n)
        outer.cancel_scope.cancel()
    scheduler.note(",".join(log))
    return ",".join(log)


@pytest.mark.parametrize("main", [five_tracers, everything_trio_keeps_in_sets])
def test_the_same_seed_gives_the_same_trace(main: Main[str]) -> None:
    runs = [simulate(main, RandomWalk(7)) for _ in range(10)]
    assert len({run.digest for run in runs}) == 1
    assert len({run.value for run in runs}) == 1
    assert runs[0].error is None


@pytest.mark.parametrize("main", [five_tracers, everything_trio_keeps_in_sets])
def test_other_seeds_give_other_traces(main: Main[str]) -> None:
    assert len({simulate(main, RandomWalk(seed)).digest for seed in range(100)}) == 100


def test_the_trace_is_the_same_in_another_process_with_another_hash_seed() -> None:
    code = (
        "import importlib.util, sys\n"
        "from troupe.supervision.testing import *\n"
        "spec = importlib.util.spec_from_file_location('scenarios', sys.argv[1])\n"
        "scenarios = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(scenarios)\n"
        "print(simulate(scenarios.five_tracers, RandomWalk(7)).digest)\n"
        "print(simulate(scenarios.everything_trio_keeps_in_sets, Pct(7, steps=200)).digest)\n"
    )
    printed = {
        subprocess.check_output([sys.executable, "-c", code, __file__], env=os.environ | {"PYTHONHASHSEED": hash_seed})
        for hash_seed in ("0", "1", "4242")
    }
    assert len(printed) == 1


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_exploring_reaches_every_interleaving_once(steps: int) -> None:
    async def two_tasks(scheduler: Scheduler) -> str:
        order: list[str] = []

        async def task(letter: str) -> None:
            for step in range(steps):
                order.append(letter)
                if step < steps - 1:
                    await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(task, "a")
            nursery.start_soon(task, "b")
        return "".join(order)

    seen = [outcome.value for outcome in explore(two_tasks)]
    assert len(set(seen)) == comb(2 * steps, steps)
    bounded = {outcome.value for outcome in explore(two_tasks, preemptions=1)}
    assert bounded < set(seen) or steps == 1


def test_exploring_stops_at_its_limit() -> None:
    assert len(list(explore(five_tracers, limit=20))) == 20


class Account:
    """The followers are read, and written after a wait: a lost update."""

    def __init__(self) -> None:
        self.followers = 0
        self.stored: list[str] = []

    async def follow(self, who: str) -> None:
        before = self.followers
        await trio.lowlevel.checkpoint()
        self.followers = before + 1
        self.stored.append(who)


async def lost_update(scheduler: Scheduler) -> None:
    account = Account()
    async with trio.open_nursery() as nursery:
        for who in ("ada", "bob", "cyd"):
            nursery.start_soon(account.follow, who, name=who)
    if account.followers != len(account.stored):
        raise LookupError(f"{account.followers} counted, {len(account.stored)} stored")


@pytest.mark.parametrize("make", [RandomWalk, partial(Pct, steps=8)], ids=["random", "pct"])
def test_a_seed_finds_the_lost_update_and_its_choices_replay_it(make: Callable[[int], Strategy]) -> None:
    failing = [outcome for seed in range(100) if (outcome := simulate(lost_update, make(seed))).error]
    assert failing
    again = simulate(lost_update, Replay(failing[0].choices))
    assert again.digest == failing[0].digest
    assert str(again.error) == str(failing[0].error)


def test_one_preemption_is_enough_for_the_lost_update_and_none_is_not() -> None:
    assert not any(outcome.error for outcome in explore(lost_update, preemptions=0))
    assert any(outcome.error for outcome in explore(lost_update, preemptions=1))


def test_pct_starves_a_task_for_longer_than_a_random_walk_does() -> None:
    """The bug needs the slow task to be held back over a hundred steps of the other."""

    async def main(scheduler: Scheduler) -> None:
        progress = 0

        async def busy() -> None:
            nonlocal progress
            for _ in range(100):
                progress += 1
                await trio.lowlevel.checkpoint()

        async def slow() -> None:
            await trio.lowlevel.checkpoint()
            assert progress < 100, "held back to the end"

        async with trio.open_nursery() as nursery:
            nursery.start_soon(busy)
            nursery.start_soon(slow)

    assert not any(simulate(main, RandomWalk(seed)).error for seed in range(50))
    assert any(simulate(main, Pct(seed, steps=100)).error for seed in range(50))


def test_pct_does_not_spin_for_ever_with_a_task_that_waits_by_checkpoints() -> None:
    async def main(scheduler: Scheduler) -> None:
        done = False

        async def spinning() -> None:
            while not done:
                await trio.lowlevel.checkpoint()

        async def working() -> None:
            nonlocal done
            await trio.lowlevel.checkpoint()
            done = True

        async with trio.open_nursery() as nursery:
            nursery.start_soon(spinning)
            nursery.start_soon(working)

    assert not any(simulate(main, Pct(seed, steps=5), step_limit=5000).error for seed in range(20))


def test_time_jumps_when_all_wait() -> None:
    async def main(scheduler: Scheduler) -> float:
        await trio.sleep(3600)
        return trio.current_time()

    assert simulate(main, RandomWalk(0)).value == 3600


def test_time_as_a_choice_lets_a_deadline_win_against_an_answer_that_is_ready() -> None:
    async def main(scheduler: Scheduler) -> tuple[bool, int]:
        applied: list[int] = []

        async def server(send: trio.MemorySendChannel[str]) -> None:
            for _ in range(3):
                await trio.lowlevel.checkpoint()
            applied.append(1)
            await send.send("ok")

        send, receive = trio.open_memory_channel[str](1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server, send)
            with trio.move_on_after(10) as scope:
                await receive.receive()
        return scope.cancelled_caught, len(applied)

    plain = {simulate(main, RandomWalk(seed)).value for seed in range(100)}
    timed = {simulate(main, RandomWalk(seed), time_is_a_choice=True).value for seed in range(100)}
    explored = {outcome.value for outcome in explore(main, time_is_a_choice=True)}
    assert plain == {(False, 1)}
    assert timed == explored == {(False, 1), (True, 1)}


def test_a_deadlock_is_found_and_says_who_waits_where() -> None:
    async def main(scheduler: Scheduler) -> None:
        first, second = trio.Lock(), trio.Lock()

        async def take(one: trio.Lock, other: trio.Lock) -> None:
            async with one:
                await trio.sleep(1)
                async with other:
                    pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(take, first, second, name="account/1")
            nursery.start_soon(take, second, first, name="account/2")

    error = simulate(main, RandomWalk(0)).error
    assert isinstance(error, Deadlock)
    assert "account/1 at test_scheduler.py:" in str(error)
    assert "account/2 at test_scheduler.py:" in str(error)
    assert "in take" in str(error)


def test_a_deadlock_under_a_shield_ends_too() -> None:
    async def main(scheduler: Scheduler) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()

    assert isinstance(simulate(main, RandomWalk(0)).error, Deadlock)


async def spinning(scheduler: Scheduler) -> None:
    while True:
        await trio.lowlevel.checkpoint()


async def spinning_shielded(scheduler: Scheduler) -> None:
    with trio.CancelScope(shield=True):
        await spinning(scheduler)


async def sleeping_again_and_again(scheduler: Scheduler) -> None:
    for second in itertools.count():
        await trio.sleep_until(second)


@pytest.mark.parametrize("main", [spinning, spinning_shielded, sleeping_again_and_again])
def test_a_livelock_ends_at_the_step_limit_and_says_who_was_busy(main: Main[None]) -> None:
    error = simulate(main, RandomWalk(0), step_limit=1000).error
    assert isinstance(error, Livelock)
    assert "scenario" in str(error)


def test_an_error_in_a_task_is_the_outcome_and_not_a_group_around_it() -> None:
    async def main(scheduler: Scheduler) -> None:
        async def fails() -> None:
            raise LookupError("nobody there")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fails)

    assert repr(simulate(main, RandomWalk(0)).error) == "LookupError('nobody there')"


def test_the_collector_is_off_during_a_run_and_as_before_after_it() -> None:
    async def main(scheduler: Scheduler) -> bool:
        return gc.isenabled()

    assert simulate(main, RandomWalk(0)).value is False
    assert gc.isenabled()


def test_actors_are_chosen_by_the_same_strategy_and_replay_with_the_tasks() -> None:
    async def main(scheduler: Scheduler) -> str:
        ready = ["home/1", "home/2", "home/3"]
        order: list[str] = []
        while ready:
            order.append(ready.pop(scheduler.choose(ready, pause="")))
            scheduler.note("has its turn", order[-1])
            await trio.lowlevel.checkpoint()
        return " ".join(order)

    outcomes = [simulate(main, RandomWalk(seed)) for seed in range(60)]
    assert len({outcome.value for outcome in outcomes}) == 6
    assert len({outcome.value for outcome in explore(main)}) == 6
    for outcome in outcomes[:10]:
        assert simulate(main, Replay(outcome.choices)).digest == outcome.digest

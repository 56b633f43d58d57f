"""Nodes of a run: tasks with a label, which can be frozen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio

from troupe.supervision.testing import Deadlock, Livelock, Run, bare
from troupe.supervision.testing.faults import never
from troupe.supervision.testing.series import PlayedSeed, Series

SEEDS = range(20)

Scenario = Callable[[Run], Awaitable[None]]


def play(scenario: Scenario, *, seed: int = 0, strategy: str = "random", deadlines_win: bool = False) -> PlayedSeed:
    return Series(scenario, bare, time_is_a_choice=deadlines_win).play(seed, strategy, never)


def succeed(played: PlayedSeed) -> PlayedSeed:
    assert played.error is None, played.error
    return played


class Counter:
    """A node of two tasks, which raise a number together."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.count = 0
        self.late = 0.0  # seconds, at most

    async def live(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._raise)
            nursery.start_soon(self._raise, name="other")

    async def _raise(self) -> None:
        while True:
            due = trio.current_time() + 1
            await trio.sleep(1)
            self.late = max(self.late, trio.current_time() - due)
            self.count += 1


async def two_nodes(run: Run, use: Callable[[Counter, Counter], Awaitable[None]]) -> None:
    """Use two nodes that run beside the task that uses them."""
    nodes = [Counter("n1 "), Counter("n2 ")]
    async with trio.open_nursery() as nursery:
        for node in nodes:
            run.add_label(node.label)
            nursery.start_soon(node.live, name=f"{node.label}counter")
        await use(*nodes)
        nursery.cancel_scope.cancel()


async def freeze_and_thaw(run: Run) -> None:
    async def use(one: Counter, other: Counter) -> None:
        await trio.sleep(10.5)
        run.freeze("n1 ")
        before = one.count
        await trio.sleep(10)
        assert one.count == before == 20
        assert other.count == 40
        run.thaw("n1 ")
        await trio.sleep(9.8)
        assert one.count == 40
        assert one.late == 9.5
        assert other.late == 0.0

    await two_nodes(run, use)


@pytest.mark.parametrize("strategy", ["random", "pct", "calm"])
def test_a_frozen_node_does_nothing_while_the_other_goes_on_and_runs_late_when_it_is_thawed(strategy: str) -> None:
    for seed in SEEDS:
        succeed(play(freeze_and_thaw, seed=seed, strategy=strategy))


def test_equal_seeds_give_equal_traces() -> None:
    for deadlines_win in (False, True):
        digests = [play(freeze_and_wait, seed=seed, deadlines_win=deadlines_win).outcome.digest for seed in SEEDS]
        again = [play(freeze_and_wait, seed=seed, deadlines_win=deadlines_win).outcome.digest for seed in SEEDS]
        assert digests == again
        assert len(set(digests)) > 10


async def freeze_and_wait(run: Run) -> None:
    async def use(one: Counter, other: Counter) -> None:
        await trio.sleep(1)
        run.freeze("n1 ")
        await trio.sleep(2)
        run.freeze("n2 ")
        await trio.sleep(2)
        run.thaw("n1 ")
        await trio.sleep(2)
        run.thaw("n2 ")

    await two_nodes(run, use)


def test_tasks_have_the_label_of_their_nursery_and_not_of_the_task_that_starts_them() -> None:
    async def scenario(run: Run) -> None:
        inside: list[trio.Nursery] = []

        async def grandchild() -> None:
            await trio.sleep(1)
            run.note("is here")

        async def child() -> None:
            async with trio.open_nursery() as nursery:
                inside.append(nursery)
                nursery.start_soon(grandchild)
                nursery.start_soon(grandchild, name="n1 by itself")

        run.add_label("n1 ")
        run.add_label("n1 ")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child, name="n1 node")
            nursery.start_soon(grandchild)
            await trio.sleep(0.5)
            inside[0].start_soon(grandchild, name="late")

    played = succeed(play(scenario))
    noted = sorted(line.who for line in played.trace if line.what == "is here")
    assert noted == ["grandchild", "n1 by itself", "n1 grandchild", "n1 late"]


def test_a_task_that_a_frozen_node_has_just_started_is_frozen_too() -> None:
    async def scenario(run: Run) -> None:
        ran: list[str] = []

        async def child() -> None:
            ran.append("child")

        async def node() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(child)
                await trio.sleep_forever()

        run.add_label("n1 ")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node, name="n1 node")
            while not ran and run.random.random() < 0.5:
                await trio.lowlevel.checkpoint()
            run.freeze("n1 ")
            before = len(ran)
            await trio.sleep(5)
            run.sometimes(not ran, "a child was started and had not run")
            assert len(ran) == before
            run.thaw("n1 ")
            await trio.sleep(5)
            assert ran == ["child"]
            nursery.cancel_scope.cancel()

    series = Series(scenario, bare)
    assert series.play_all(range(40), ["random"]) is None
    assert series.sometimes.never == []


def test_a_message_to_a_frozen_node_waits_and_the_world_is_quiet_meanwhile() -> None:
    async def scenario(run: Run) -> None:
        asked, answered = trio.Event(), trio.Event()

        async def node() -> None:
            await asked.wait()
            answered.set()

        run.add_label("n1 ")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node, name="n1 node")
            await run.quiet()
            run.freeze("n1 ")
            asked.set()
            await run.quiet()  # although the node could run
            with trio.move_on_after(2) as wait:
                await answered.wait()
            assert wait.cancelled_caught
            run.thaw("n1 ")
            run.thaw("n1 ")
            await run.quiet()
            assert answered.is_set()

    for seed in SEEDS:
        succeed(play(scenario, seed=seed))


def test_a_deadline_of_a_frozen_node_passes_and_is_noticed_late() -> None:
    async def scenario(run: Run) -> None:
        async def node() -> None:
            with trio.move_on_after(1) as wait:
                await trio.sleep_forever()
            assert wait.cancelled_caught
            assert trio.current_time() == 5

        run.add_label("n1 ")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node, name="n1 node")
            await run.quiet()
            run.freeze("n1 ")
            await trio.sleep(5)
            run.thaw("n1 ")

    succeed(play(scenario))


def test_a_run_that_waits_for_a_frozen_node_alone_is_a_deadlock() -> None:
    async def scenario(run: Run) -> None:
        async def node() -> None:
            await trio.sleep(1)

        run.add_label("n1 ")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node, name="n1 node")
            await run.quiet()
            run.freeze("n1 ")

    error = play(scenario).error
    assert isinstance(error, Deadlock)
    assert "all tasks wait: scenario at" in str(error)
    assert str(error).endswith("; frozen: n1 node")


def test_a_run_that_goes_on_for_ever_names_the_frozen_tasks() -> None:
    async def scenario(run: Run) -> None:
        async def use(one: Counter, other: Counter) -> None:
            run.freeze("n1 ")
            await trio.sleep_forever()

        await two_nodes(run, use)

    error = Series(scenario, bare, step_limit=1000).play(0, "random", never).error
    assert isinstance(error, Livelock)
    assert str(error).endswith("; frozen: n1 counter")


def test_an_error_of_the_scenario_is_reported_although_a_node_is_frozen() -> None:
    async def scenario(run: Run) -> None:
        async def use(one: Counter, other: Counter) -> None:
            await trio.sleep(3.5)
            run.freeze("n1 ")
            await trio.sleep(1)
            raise KeyError("it fails")

        await two_nodes(run, use)

    for seed in SEEDS:
        error = play(scenario, seed=seed).error
        assert isinstance(error, KeyError), error


def test_a_broken_claim_ends_a_run_although_a_node_is_frozen_for_good() -> None:
    async def scenario(run: Run) -> None:
        async def use(one: Counter, other: Counter) -> None:
            await trio.sleep(3.5)
            run.always(lambda: other.count < 10, "few")
            run.freeze("n1 ")
            try:
                await trio.sleep_forever()
            finally:
                run.freeze("n2 ")  # too late: the run must end

        await two_nodes(run, use)

    assert "not always true: few" in str(play(scenario).error)


def test_an_unknown_label_cannot_be_frozen() -> None:
    async def scenario(run: Run) -> None:
        run.freeze("n9 ")

    assert isinstance(play(scenario).error, LookupError)

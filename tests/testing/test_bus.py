"""The bus between the nodes of a simulated cluster."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio

from troupe.supervision.testing import Budget, Fault, Planned, Point, Run, SimulatedBus
from troupe.supervision.testing.bus import LATEST, LONGEST_WAY
from troupe.supervision.testing.faults import RATES, Chance, Plan, never
from troupe.supervision.testing.series import PlayedSeed, Series

Heard = list[tuple[str, str]]  # the senders and their texts


class World:
    """Three nodes that write down what they are sent."""

    def __init__(self, run: Run, nursery: trio.Nursery) -> None:
        self.run = run
        self.bus = SimulatedBus(run, nursery)
        self.heard: dict[str, Heard] = {}
        for node in ("n1", "n2", "n3"):
            self.join(node)

    def join(self, node: str) -> None:
        heard = self.heard[node] = []
        self.bus.join(node, lambda sender, data: heard.append((sender, data.decode())))

    def send(self, sender: str, to: str, texts: str) -> None:
        for text in texts:
            self.bus.send(sender, to, text.encode())

    def texts(self, node: str) -> str:
        return "".join(text for _, text in self.heard[node])


@asynccontextmanager
async def world(run: Run) -> AsyncGenerator[World]:
    async with trio.open_nursery() as nursery:
        yield World(run, nursery)
        nursery.cancel_scope.cancel()


def play(scenario: Callable[[World], Awaitable[None]], *, seed: int = 0, plan: Plan = never) -> PlayedSeed:
    played = Series(scenario, world).play(seed, "random", plan)
    assert played.error is None, played.error
    return played


async def everybody_talks(world: World) -> None:
    for letter in "abcdefghij":
        for sender in world.heard:
            for to in world.heard.keys() - {sender}:
                world.send(sender, to, letter)
        await trio.sleep(LONGEST_WAY / 3)
    await trio.sleep(2 * LATEST)


def test_each_datagram_arrives_once_and_some_overtake_others() -> None:
    orders: set[str] = set()

    async def scenario(world: World) -> None:
        world.send("n1", "n2", "abcde")
        await trio.sleep(LONGEST_WAY)
        assert sorted(world.heard["n2"]) == [("n1", letter) for letter in "abcde"]
        assert world.heard["n3"] == []
        orders.add(world.texts("n2"))

    for seed in range(20):
        play(scenario, seed=seed)
    assert len(orders) > 10


def test_sending_does_not_wait_and_some_datagrams_take_no_time() -> None:
    async def scenario(world: World) -> None:
        world.send("n1", "n2", "abcdefghijklmnopqrstuvwxyz")
        assert world.heard["n2"] == []
        await world.run.quiet()
        assert trio.current_time() == 0.0
        assert 0 < len(world.heard["n2"]) < 26

    play(scenario)


@pytest.mark.parametrize(("fault", "heard"), [
    (Fault.DATAGRAM_LOST, "ac"), (Fault.DATAGRAM_REPEATED, "abbc"), (Fault.DATAGRAM_LATE, "abc"),
])  # fmt: skip
def test_the_plan_of_faults_loses_repeats_and_delays(fault: Fault, heard: str) -> None:
    async def scenario(world: World) -> None:
        world.send("n1", "n2", "abc")
        await trio.sleep(LONGEST_WAY)
        soon = world.texts("n2")
        await trio.sleep(LATEST)
        assert "".join(sorted(world.texts("n2"))) == heard
        assert len(soon) == (3 if fault is Fault.DATAGRAM_REPEATED else 2)

    played = play(scenario, plan=Planned([Point(fault, "n1 to n2", 2)]))
    assert [str(point) for point in played.struck] == [f"n1 to n2 {fault.value} (time 2)"]


def test_one_fault_less_leaves_the_other_datagrams_as_they_are() -> None:
    def arrivals(*points: Point) -> list[tuple[float, str]]:
        async def scenario(world: World) -> None:
            world.send("n1", "n2", "abcdef")
            await trio.sleep(LATEST)

        trace = play(scenario, plan=Planned(points)).trace
        return [(line.at, line.what) for line in trace if "receives" in line.what and " 3 " not in line.what]

    assert arrivals() == arrivals(Point(Fault.DATAGRAM_LATE, "n1 to n2", 3))


def test_a_cut_is_one_way_and_heals() -> None:
    async def scenario(world: World) -> None:
        world.bus.cut("n1", "n2")
        world.send("n1", "n2", "a")
        world.send("n2", "n1", "b")
        world.send("n1", "n3", "c")
        await trio.sleep(LONGEST_WAY)
        assert (world.texts("n1"), world.texts("n2"), world.texts("n3")) == ("b", "", "c")
        world.bus.heal()
        world.send("n1", "n2", "d")
        await trio.sleep(LONGEST_WAY)
        assert world.texts("n2") == "d"

    play(scenario)


def test_a_node_that_is_cut_off_hears_nothing_and_is_not_heard() -> None:
    async def scenario(world: World) -> None:
        world.bus.cut_off("n1")
        world.send("n1", "n2", "a")
        world.send("n2", "n1", "b")
        world.send("n2", "n3", "c")
        await trio.sleep(LONGEST_WAY)
        assert (world.texts("n1"), world.texts("n2"), world.texts("n3")) == ("", "", "c")

    play(scenario)


def test_a_datagram_to_a_node_that_has_left_is_dropped_also_if_the_node_comes_back() -> None:
    async def scenario(world: World) -> None:
        world.send("n1", "n2", "abcdefgh")
        world.bus.leave("n2")
        await trio.sleep(LONGEST_WAY)
        assert world.heard["n2"] == []
        world.send("n1", "n2", "i")
        await trio.sleep(LONGEST_WAY)
        world.join("n2")
        world.send("n1", "n2", "j")
        await trio.sleep(LATEST)
        assert world.texts("n2") == "j"
        world.bus.leave("n2")
        world.bus.leave("n2")

    for seed in range(10):
        play(scenario, seed=seed)


def test_a_late_datagram_reaches_the_next_process_of_the_node() -> None:
    async def scenario(world: World) -> None:
        world.send("n1", "n2", "a")
        await trio.lowlevel.checkpoint()
        world.bus.leave("n2")
        world.join("n2")
        with pytest.raises(ValueError, match="n2 is on the bus already"):
            world.bus.join("n2", lambda sender, data: None)
        await trio.sleep(LATEST)
        assert world.texts("n2") == "a"

    play(scenario, plan=Planned([Point(Fault.DATAGRAM_LATE, "n1 to n2", 1)]))


def test_a_process_that_has_left_is_handed_nothing_also_if_it_was_about_to_be() -> None:
    async def scenario(world: World) -> None:
        old = world.heard["n2"]
        for letter in "abcdefgh":
            world.send("n1", "n2", letter)
            await trio.lowlevel.checkpoint()
        world.bus.leave("n2")
        before = len(old)
        world.join("n2")
        await trio.sleep(LATEST)
        assert len(old) == before
        assert before + len(world.heard["n2"]) <= 8

    for seed in range(30):
        play(scenario, seed=seed)


def test_an_error_of_the_receiver_ends_the_run() -> None:
    async def scenario(world: World) -> None:
        def fail(sender: str, data: bytes) -> None:
            raise KeyError(data)

        world.bus.join("n4", fail)
        world.send("n1", "n4", "a")
        await trio.sleep(LATEST)

    assert isinstance(Series(scenario, world).play(0, "random", never).error, KeyError)


def test_equal_seeds_give_equal_traces_and_other_seeds_others() -> None:
    def digest(seed: int) -> str:
        return play(everybody_talks, seed=seed, plan=Chance(seed, Budget(2), 100)).outcome.digest

    assert digest(3) == digest(3)
    assert len({digest(seed) for seed in range(20)}) == 20


def test_runs_differ_in_how_faulty_their_bus_is() -> None:
    def count(seed: int, budget: Budget) -> dict[Fault, int]:
        struck = play(everybody_talks, seed=seed, plan=Chance(seed, budget, 100)).struck
        return {fault: sum(point.fault is fault for point in struck) for fault in RATES}

    counts = [count(seed, Budget(1)) for seed in range(40)]
    for fault in RATES:
        lost = [found[fault] for found in counts]
        assert min(lost) == 0
        assert max(lost) > 4
    assert set(count(2, Budget(0)).values()) == {0}
    assert all(count(seed, Budget(1, frozenset({Fault.LOST})))[Fault.DATAGRAM_LOST] == 0 for seed in range(10))


def test_datagrams_spend_no_budget_and_change_no_other_fault() -> None:
    def struck(points: list[Point]) -> list[Point]:
        plan = Chance(5, Budget(3), 50)
        return [point for point in points if plan(point) and point.fault not in RATES]

    turns = [Point(Fault.CRASH_AFTER, "account/1", nth) for nth in range(200)]
    mixed = [point for turn in turns for point in (Point(Fault.DATAGRAM_LOST, "n1 to n2", turn.nth), turn)]
    assert len(struck(turns)) == 3
    assert struck(mixed) == struck(turns)


def test_a_bus_without_faults_keeps_its_cuts_and_its_delays() -> None:
    async def scenario(world: World) -> None:
        world.bus.is_faulty = False
        world.bus.cut("n1", "n3")
        world.send("n1", "n2", "abcdefgh")
        world.send("n1", "n3", "a")
        await trio.sleep(LONGEST_WAY)
        assert len(world.texts("n2")) == 8
        assert world.texts("n3") == ""

    assert play(scenario, plan=lambda point: True).struck == []


def test_a_failing_run_shrinks_to_the_datagram_that_must_be_lost() -> None:
    async def scenario(world: World) -> None:
        for letter in "abcdefghijklmnopqrstuvwxyz":
            world.send("n1", "n2", letter)
        await trio.sleep(LATEST)
        assert "q" in world.texts("n2"), "q is lost"

    failure = Series(scenario, world, Budget(1)).play_all(range(60), ["random"])
    assert failure is not None
    assert failure.shrunk.struck == [Point(Fault.DATAGRAM_LOST, "n1 to n2", 17)]

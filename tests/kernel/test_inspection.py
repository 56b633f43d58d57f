"""What operators see of actors: by kind, sorted and filtered, and one by one, also while an actor is wedged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from time import thread_time

import pytest
import trio
import trio.lowlevel
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Address, Cell, Crashed, Origin
from troupe.actors.kernel.cell import CellPhase
from troupe.actors.kernel.inspection import SLICE, ActorFilter, Inspection, Order, Overview, Slices, at_once

from .acting import Do, Kernel, MakeKernel, Player


async def wedge(kernel: Kernel, key: str) -> None:
    """Have a player wait for ever in a turn."""

    async def where_it_waits(player: Player) -> None:
        await trio.sleep(inf)

    kernel.runtime.tell(Address("player", key), Do(where_it_waits), origin=Origin("r1", ("Publish#5 at account/1",)))
    await wait_all_tasks_blocked()


async def test_a_kind_has_a_row_with_its_numbers(kernel: Kernel) -> None:
    await kernel.ask("idle", lambda player: None)
    await wedge(kernel, "a")
    kernel.tell("a", lambda player: None)
    kernel.tell("a", lambda player: None)
    await trio.sleep(7)
    (row,) = await kernel.runtime.inspection.kinds()
    assert (row.kind, row.known, row.awake, row.working, row.depth) == ("player", 2, 2, 1, 2)
    assert (row.oldest, row.turn) == (pytest.approx(7), pytest.approx(7))
    assert (row.restarts, row.quarantined, row.resting) == (0, 0, 0)


async def test_restarts_are_counted_of_actors_too_that_have_gone_to_sleep(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(idle=10)
    with pytest.raises(Crashed):
        await kernel.ask("a", lambda player: 1 / 0)
    await kernel.ask("a", lambda player: None)
    await trio.sleep(60)
    (row,) = await kernel.runtime.inspection.kinds()
    assert (row.known, row.restarts) == (0, 1)


async def fill(kernel: Kernel) -> None:
    """Four players: `deep` has most mail, `old` the oldest, `slow` the longest turn, and `torn` was restarted."""
    await wedge(kernel, "slow")
    await trio.sleep(1)
    await wedge(kernel, "old")
    kernel.tell("old", lambda player: None)
    await trio.sleep(1)
    await wedge(kernel, "deep")
    for _ in range(3):
        kernel.tell("deep", lambda player: None)
    kernel.runtime.resync(Address("player", "torn"))
    await kernel.ask("torn", lambda player: None)
    kernel.runtime.resync(Address("player", "torn"))
    await wait_all_tasks_blocked()


@pytest.mark.parametrize(
    ("order", "first"), [("depth", "deep"), ("oldest", "old"), ("turn", "slow"), ("restarts", "torn")]
)
async def test_actors_are_sorted_by_their_troubles(kernel: Kernel, order: Order, first: str) -> None:
    await fill(kernel)
    found = (await kernel.runtime.inspection.overview(order)).actors
    assert found[0].address == f"player/{first}"
    assert len(found) == 4
    assert (await kernel.runtime.inspection.overview(order, limit=1)).actors == found[:1]


@pytest.mark.parametrize(
    ("order", "first"), [("depth", "deep"), ("oldest", "old"), ("turn", "slow"), ("restarts", "torn")]
)
async def test_the_first_actors_are_found_behind_many_quiet_ones(kernel: Kernel, order: Order, first: str) -> None:
    for number in range(3 * SLICE):
        cell = kernel.pool.cells[f"quiet {number}"] = Cell(Address("player", f"quiet {number}"))
        cell.phase = CellPhase.READY
    await fill(kernel)
    kinds, actors = await kernel.runtime.inspection.overview(order, limit=2)
    assert [one.known for one in kinds] == [3 * SLICE + 4]
    assert (actors[0].address, len(actors)) == (f"player/{first}", 2)
    quiet = (await kernel.runtime.inspection.overview(order, limit=6)).actors[-2:]
    assert [one.address for one in quiet] == ["player/quiet 0", "player/quiet 1"]
    kernel.pool.cells.clear()


@pytest.mark.parametrize(
    ("found", "left"),
    [
        (ActorFilter(depth=3), {"deep"}), (ActorFilter(oldest=0.5), {"old"}), (ActorFilter(turn=1.5), {"slow"}),
        (ActorFilter(restarts=1), {"torn"}), (ActorFilter(kind="player"), {"deep", "old", "slow", "torn"}),
        (ActorFilter(kind="home"), set[str]()), (ActorFilter(depth=1, turn=0.5), {"old"}),
    ],
)  # fmt: skip
async def test_actors_are_filtered_by_kind_and_by_least_numbers(
    kernel: Kernel, found: ActorFilter, left: set[str]
) -> None:
    await fill(kernel)
    actors = (await kernel.runtime.inspection.overview("depth", found)).actors
    assert {one.address for one in actors} == {f"player/{key}" for key in left}


async def test_a_wedged_actor_is_shown_with_its_stack_its_cause_and_its_mail(kernel: Kernel) -> None:
    await wedge(kernel, "a")
    kernel.tell("a", lambda player: None)
    await trio.sleep(3)
    snapshot = kernel.runtime.inspection.actor(Address("player", "a"))
    assert snapshot is not None
    assert snapshot.turn is not None
    assert (snapshot.summary.phase, snapshot.holds) == ("waiting", "0 done")
    assert (snapshot.turn.message, snapshot.turn.request_id) == ("Do", "r1")
    assert snapshot.turn.causes == ("Publish#5 at account/1",)
    assert snapshot.turn.seconds == pytest.approx(3)
    assert "in where_it_waits" in snapshot.turn.stack
    assert snapshot.turn.waits_for.startswith("where_it_waits in test_inspection.py:")
    assert [(one.message, one.count) for one in snapshot.mailbox] == [("Do", 1)]
    assert snapshot.mailbox[0].oldest == pytest.approx(3)


async def test_an_actor_that_waits_for_another_one_names_it(kernel: Kernel) -> None:
    await wedge(kernel, "b")
    kernel.tell("a", lambda player: player.ask_player("b", lambda other: None))
    await wait_all_tasks_blocked()
    snapshot = kernel.runtime.inspection.actor(Address("player", "a"))
    assert snapshot is not None
    assert snapshot.turn is not None
    assert snapshot.turn.waits_for == "an answer of player/b"


async def test_a_sleeping_actor_has_no_portrait(kernel: Kernel) -> None:
    assert kernel.runtime.inspection.actor(Address("player", "nobody")) is None
    assert kernel.runtime.inspection.actor(Address("nonsense", "1")) is None


async def test_a_quarantined_actor_says_when_it_is_released(kernel: Kernel) -> None:
    for _ in range(6):
        kernel.tell("a", lambda player: 1 / 0)
        await trio.lowlevel.checkpoint()
    await trio.sleep(15)
    snapshot = kernel.runtime.inspection.actor(Address("player", "a"))
    assert snapshot is not None
    assert snapshot.summary.phase == "quarantined"
    assert len(snapshot.crashes) == 6
    assert 580 < snapshot.release_in < 600


def kinds_alone(inspection: Inspection) -> Slices[object]:
    return inspection.each_kind()


def kinds_and_actors(inspection: Inspection) -> Slices[object]:
    return inspection.each_kind_and_actor("depth", ActorFilter(), 50)


@pytest.mark.parametrize("look", [kinds_alone, kinds_and_actors])
async def test_many_actors_are_looked_at_in_slices_and_each_once(
    kernel: Kernel, look: Callable[[Inspection], Slices[object]]
) -> None:
    """100,000 addresses are known. The work between two checkpoints is bounded, and so is all of it."""
    looks = 0

    class Counted(Cell):
        @property
        def listened(self) -> None:
            nonlocal looks
            looks += 1

        @listened.setter
        def listened(self, feed: None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
            pass

    many = {str(number): Counted(Address("player", str(number))) for number in range(100_000)}
    kernel.pool.cells.update(many)
    slices = look(kernel.runtime.inspection)
    between: list[int] = []
    for _ in slices:
        between.append(looks - sum(between))
    assert max(between) <= SLICE
    assert looks == len(many)
    kernel.pool.cells.clear()


def least_cpu(work: Callable[[], object]) -> float:
    """Return the seconds of CPU that the fastest of some runs took."""
    times: list[float] = []
    for _ in range(10):
        began = thread_time()
        work()
        times.append(thread_time() - began)
    return min(times)


async def test_a_look_at_quiet_actors_costs_little_more_than_a_loop_over_them(kernel: Kernel) -> None:
    """The bounds are twice what it takes, and half of what it took with some lookups of enumerations a cell."""
    cells = kernel.pool.cells
    for number in range(20_000):
        cell = cells[str(number)] = Cell(Address("player", str(number)))
        cell.phase = CellPhase.READY
    loop = least_cpu(lambda: [cell for cell in cells.values() if cell.mailbox or cell.envelope is not None])
    inspection = kernel.runtime.inspection
    assert least_cpu(lambda: at_once(inspection.each_kind_and_actor("depth", ActorFilter(), 20))) < 22 * loop
    assert least_cpu(lambda: at_once(inspection.each_kind())) < 9 * loop
    assert least_cpu(kernel.pool.summary) < 6 * loop
    cells.clear()


async def test_another_thread_sees_the_same(kernel: Kernel) -> None:
    await wedge(kernel, "a")
    seen: list[Overview] = []
    inspection = kernel.runtime.inspection
    slices = inspection.each_kind_and_actor("turn", ActorFilter(), 5)
    thread = threading.Thread(target=lambda: seen.append(at_once(slices)))
    thread.start()
    thread.join()
    ((kinds, actors),) = seen
    assert [(one.kind, one.working) for one in kinds] == [("player", 1)]
    assert [(one.address, one.message) for one in actors] == [("player/a", "Do")]

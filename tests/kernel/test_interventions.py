"""What operators do to single actors: restart them, end a quarantine, end a turn that waits or keeps the loop busy."""

from __future__ import annotations

import threading
import time
from math import inf

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Address, Crashed
from troupe.actors.kernel.inspection import ActorSnapshot
from troupe.actors.kernel.interventions import NothingToDo
from troupe.actors.kernel.watchdog import GRACE

from .acting import Action, Kernel, Player

A = Address("player", "a")


async def test_a_restarted_actor_reads_its_rows_and_its_mail_waits(kernel: Kernel) -> None:
    await kernel.ask("a", lambda player: player.done.append("old"))
    assert kernel.runtime.interventions.restart(A) == "player/a restarts from its rows."
    assert await kernel.ask("a", lambda player: (player.cell.incarnation, player.done)) == (2, [])


async def test_an_actor_in_a_turn_restarts_after_it(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell("a", kernel.pause(5))
    await wait_all_tasks_blocked()
    assert "when its turn has ended" in kernel.runtime.interventions.restart(A)
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2
    assert not kernel.told("actor.crashed")


async def quarantine(kernel: Kernel) -> None:
    for _ in range(6):
        with pytest.raises(Crashed):
            await kernel.ask("a", lambda player: 1 / 0, deadline=inf)


@pytest.mark.parametrize("act", ["restart", "release"])
async def test_a_quarantine_ends_at_once(kernel: Kernel, act: str) -> None:
    await quarantine(kernel)
    assert getattr(kernel.runtime.interventions, act)(A) == "The quarantine of player/a has ended."
    assert await kernel.ask("a", lambda player: "well") == "well"
    assert kernel.told("actor.released")[0]["decision"] == "by an operator"


async def test_a_turn_that_waits_for_ever_is_cancelled_and_the_next_incarnation_works(kernel: Kernel) -> None:
    await kernel.wake("a")
    began = trio.current_time()

    async def release() -> None:
        await wait_all_tasks_blocked()
        kernel.runtime.interventions.release(A)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(release)
        with pytest.raises(Crashed):
            await kernel.ask("a", kernel.pause(inf), deadline=inf)
    assert trio.current_time() == began
    assert kernel.told("actor.crashed")[0]["error"] == "Released: by an operator"
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2


async def test_a_load_that_waits_for_ever_is_cancelled_too(kernel: Kernel) -> None:
    async def load(player: Player) -> None:
        if player.cell.incarnation == 1:
            await trio.sleep(inf)

    kernel.script.load = load
    kernel.tell("a", lambda player: player.done.append("mail"))
    await wait_all_tasks_blocked()
    kernel.runtime.interventions.release(A)
    await wait_all_tasks_blocked()
    assert kernel.player("a").done == ["mail"]


async def test_a_turn_that_shields_itself_is_abandoned(kernel: Kernel) -> None:
    async def shielded(player: Player) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(100 if player.cell.incarnation == 1 else 0)

    await kernel.wake("a")
    kernel.tell("a", shielded)
    await trio.sleep(2)
    began = trio.current_time()
    kernel.runtime.interventions.release(A)
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2
    assert kernel.told("actor.crashed")[0]["error"] == "Released: by an operator"
    assert trio.current_time() - began <= GRACE + 1


async def test_an_actor_without_trouble_is_not_released(kernel: Kernel) -> None:
    await kernel.wake("a")
    with pytest.raises(NothingToDo, match="it is ready"):
        kernel.runtime.interventions.release(A)
    with pytest.raises(NothingToDo, match="does not keep the server busy"):
        kernel.runtime.interventions.break_off(A)
    with pytest.raises(NothingToDo, match="is not awake"):
        kernel.runtime.interventions.restart(Address("player", "nobody"))
    assert not kernel.told("actor.crashed")


def turning_for_ever(player: Player) -> None:
    """A plain turn that does not end. So that a test that fails ends, it does after ten seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            sum(range(100))
        except Exception:  # a turn that catches what it can
            continue


async def turning_after_a_wait(player: Player) -> None:
    await trio.lowlevel.checkpoint()
    turning_for_ever(player)


@pytest.mark.parametrize("busy", [turning_for_ever, turning_after_a_wait])
async def test_a_turn_that_keeps_the_loop_busy_is_seen_and_broken_off_from_another_thread(
    kernel: Kernel, busy: Action
) -> None:
    await kernel.wake("a")
    seen: list[ActorSnapshot | None] = []

    def watch() -> None:
        snapshot = None
        for _ in range(1000):
            snapshot = kernel.runtime.inspection.actor(A)
            if snapshot is not None and snapshot.turn is not None and snapshot.turn.busy:
                break
            time.sleep(0.005)
        seen.append(snapshot)
        kernel.runtime.interventions.break_off(A)

    thread = threading.Thread(target=watch)
    thread.start()
    with pytest.raises(Crashed):
        await kernel.ask("a", busy, deadline=inf)
    thread.join()
    (snapshot,) = seen
    assert snapshot is not None
    assert snapshot.turn is not None
    assert snapshot.turn.message == "Do"
    assert "in turning_for_ever" in snapshot.turn.stack
    assert kernel.told("actor.crashed")[0]["error"] == "Released: by an operator"
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2

"""The watchdog: a turn or load of more than a second is logged once, one of more than 30 seconds crashes its actor."""

from __future__ import annotations

import gc
import sys
import threading
import time
from math import inf
from types import FrameType
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.account import AccountActor
from troupe.actors.kernel import Address, Cell, Crashed
from troupe.actors.kernel.errors import Superseded
from troupe.actors.kernel.watchdog import GRACE, Watchdog, innermost_frame
from troupe.actors.kernel.work import LONGEST_TURN

from .acting import Action, Kernel, Player, Said, fail_in_clean_up, nothing_at_once

LATE = LONGEST_TURN + GRACE + 1


# Turns and loads that wait


async def test_a_slow_turn_is_logged_once_with_its_actor_and_where_it_waits(kernel: Kernel) -> None:
    async def where_it_waits(player: Player) -> None:
        await trio.sleep(25)

    kernel.tell("a", where_it_waits)
    await trio.sleep(29)
    (facts,) = kernel.told("turn.slow")
    assert (facts["actor"], facts["message"]) == ("player/a", "Do")
    assert 1 <= facts["seconds"] < 2
    assert "in where_it_waits" in facts["stack"]


async def test_a_slow_load_is_logged_once_as_a_turn_is(kernel: Kernel) -> None:
    async def where_it_loads(player: Player) -> None:
        await trio.sleep(5)

    kernel.script.load = where_it_loads
    await kernel.ask("a", lambda player: None)
    (facts,) = kernel.told("turn.slow")
    assert (facts["actor"], facts["message"]) == ("player/a", "load")
    assert "in where_it_loads" in facts["stack"]


async def test_turns_and_loads_of_less_than_a_second_are_not_logged(kernel: Kernel) -> None:
    kernel.script.load = kernel.pause(0.9)
    await kernel.ask("a", kernel.pause(0.9))
    await kernel.ask("a", kernel.pause(0.9))
    assert not kernel.told("turn.slow")


async def test_a_turn_of_more_than_thirty_seconds_is_crashed(kernel: Kernel) -> None:
    began = trio.current_time()
    with pytest.raises(Crashed):
        await kernel.ask("a", kernel.pause(inf), deadline=began + 60)
    assert trio.current_time() == began + 30
    assert kernel.told("actor.crashed")[0]["error"] == "Overdue: over 30 s"
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2


async def test_an_overdue_turn_that_fails_while_it_is_cancelled_crashes_its_actor_alone(kernel: Kernel) -> None:
    with pytest.raises(Crashed):
        await kernel.ask("a", fail_in_clean_up, deadline=trio.current_time() + 60)
    assert await kernel.ask("b", lambda player: "well") == "well"
    assert await kernel.ask("a", lambda player: "well") == "well"


# Turns that shield themselves


def shielded(seconds: float, at_the_end: Action = nothing_at_once) -> Action:
    """A turn or load that can't be cancelled."""

    async def shielded(player: Player) -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(seconds)
        at_the_end(player)
        return "too late"

    return shielded


async def test_an_actor_whose_turn_shields_itself_is_crashed_and_the_next_incarnation_works(kernel: Kernel) -> None:
    began = trio.current_time()
    with pytest.raises(Crashed):
        await kernel.ask("a", shielded(100), deadline=began + 60)
    assert LONGEST_TURN <= trio.current_time() - began <= LATE
    assert kernel.told("actor.crashed")[0]["error"] == "Overdue: over 30 s"
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2


async def test_an_actor_whose_load_shields_itself_is_crashed_and_the_next_incarnation_works(kernel: Kernel) -> None:
    async def load(player: Player) -> None:
        if player.cell.incarnation == 1:
            await shielded(100)(player)

    kernel.script.load = load
    assert await kernel.ask("a", lambda player: player.cell.incarnation, deadline=inf) == 2
    assert trio.current_time() <= LATE


async def test_a_turn_that_ends_late_is_a_crash_although_it_could_not_be_cancelled(kernel: Kernel) -> None:
    with pytest.raises(Crashed):
        await kernel.ask("a", shielded(LONGEST_TURN + GRACE / 2), deadline=inf)
    assert len(kernel.told("actor.crashed")) == 1


async def test_what_an_abandoned_turn_does_reaches_neither_memory_nor_streams(
    kernel: Kernel, make_listener: Any
) -> None:
    listener = make_listener()
    await kernel.subscribe("a", listener)

    memory: list[list[object]] = []

    def write(player: Player) -> None:
        player.done.append("old")
        player.feed.append(Said("old"))
        memory.append(list(kernel.player("a").done))

    with pytest.raises(Crashed):
        await kernel.ask("a", shielded(LATE + 5, write), deadline=inf)
    await kernel.ask("a", lambda player: player.done.append("new"))
    await trio.sleep(10)
    await kernel.ask("a", lambda player: None)
    assert memory == [["new"]]
    assert listener.words == []


async def test_an_abandoned_turn_that_ends_does_not_end_the_turn_of_the_next_incarnation(kernel: Kernel) -> None:
    async def fail(player: Player) -> None:
        await shielded(LATE + 5)(player)
        raise ValueError("too late")

    with pytest.raises(Crashed):
        await kernel.ask("a", fail, deadline=inf)
    assert await kernel.ask("a", kernel.pause(9)) is None
    assert len(kernel.told("actor.crashed")) == 1


async def test_rows_are_read_again_when_an_abandoned_turn_has_ended(kernel: Kernel) -> None:
    """Its transaction may have committed after the next incarnation had read them."""
    rows: list[str] = []

    async def load(player: Player) -> None:
        player.done.extend(rows)

    kernel.script.load = load
    with pytest.raises(Crashed):
        await kernel.ask("a", shielded(LATE + 5, lambda player: rows.append("committed late")), deadline=inf)
    assert await kernel.ask("a", lambda player: list(player.done)) == []
    await trio.sleep(10)
    assert await kernel.ask("a", lambda player: list(player.done)) == ["committed late"]


async def test_an_abandoned_turn_begins_no_further_transaction(kernel: Kernel) -> None:
    refused: list[str] = []

    def transact(player: Player) -> None:
        try:
            player.check_current()
        except Superseded as error:
            refused.append(str(error))

    await kernel.ask("a", transact)
    assert refused == []
    with pytest.raises(Crashed):
        await kernel.ask("a", shielded(LATE, transact), deadline=inf)
    await trio.sleep(5)
    assert refused == ["player/a"]


async def test_an_abandoned_command_of_an_account_begins_no_further_transaction(kernel: Kernel) -> None:
    nothing: Any = None
    account = AccountActor(Cell(Address("account", "1")), kernel.runtime, nothing)
    account.detach()
    with pytest.raises(Superseded):
        await account.transact(nothing)


async def test_what_an_abandoned_load_registers_is_taken_back(kernel: Kernel) -> None:
    register: set[Player] = set()

    async def load(player: Player) -> None:
        if player.cell.incarnation == 1:
            await shielded(LATE + 5)(player)
        register.add(player)

    kernel.script.load = load
    kernel.script.retired = register.discard
    await kernel.ask("a", lambda player: None, deadline=inf)
    await trio.sleep(10)
    assert register == {kernel.player("a")}


async def test_a_pool_stops_when_an_abandoned_turn_has_ended(kernel: Kernel) -> None:
    with pytest.raises(Crashed):
        await kernel.ask("a", shielded(LATE + 5), deadline=inf)
    kernel.stopping.set()
    await trio.sleep(10)
    assert not kernel.pool.cells


# Turns and loads that keep the loop busy, seen from outside


class Outside:
    """The watchdog's thread, whose looks a turn takes itself, so that no test waits for real time."""

    def __init__(self, kernel: Kernel) -> None:
        self._watchdog = Watchdog(kernel.runtime.pools, kernel.record)
        self.looks(0.0)

    def looks(self, *times: float) -> None:
        for instant in times:
            self._watchdog.look(threading.get_ident(), instant)


async def test_a_plain_turn_that_keeps_the_loop_busy_is_logged_once_with_its_stack(kernel: Kernel) -> None:
    outside = Outside(kernel)

    def where_it_works(player: Player) -> None:
        outside.looks(0.25, 0.5, 1.0, 1.5, 2.0, 20.0)

    await kernel.ask("a", where_it_works)
    (facts,) = kernel.told("turn.slow")
    assert (facts["actor"], facts["message"], facts["seconds"]) == ("player/a", "Do", 1.2)
    assert "in where_it_works" in facts["stack"]
    assert "_take_turn" not in facts["stack"]


async def test_a_plain_turn_that_is_answered_at_once_is_seen_too(kernel: Kernel) -> None:
    outside = Outside(kernel)
    await kernel.wake("a")
    await kernel.ask("a", lambda player: outside.looks(0.25, 1.5))
    assert len(kernel.told("turn.slow")) == 1


async def test_a_waiting_turn_or_load_that_keeps_the_loop_busy_is_logged_once(kernel: Kernel) -> None:
    outside = Outside(kernel)

    async def where_it_works(player: Player) -> None:
        await trio.lowlevel.checkpoint()
        outside.looks(0.25, 0.5, 1.0, 1.5)
        await trio.sleep(5)
        outside.looks(7.0, 8.0, 9.0)

    kernel.script.load = where_it_works
    await kernel.ask("a", lambda player: None)
    (facts,) = kernel.told("turn.slow")
    assert facts["message"] == "load"
    assert "in where_it_works" in facts["stack"]
    assert "in _load\n" not in facts["stack"]


async def test_the_stack_of_a_waiting_turn_that_keeps_the_loop_busy_ends_at_the_turn(
    kernel: Kernel,
) -> None:
    outside = Outside(kernel)

    async def where_it_works(player: Player) -> None:
        await trio.lowlevel.checkpoint()
        outside.looks(0.25, 1.5)

    await kernel.ask("a", where_it_works)
    (facts,) = kernel.told("turn.slow")
    assert "in where_it_works" in facts["stack"]
    assert "in result_of\n" not in facts["stack"]


async def test_many_short_turns_of_one_actor_are_no_long_one(kernel: Kernel) -> None:
    outside = Outside(kernel)
    for instant in range(20):
        await kernel.ask("a", lambda player, instant=instant: outside.looks(instant * 0.25))
    assert not kernel.told("turn.slow")


async def test_a_turn_in_c_that_kept_the_watchdog_from_looking_is_logged(kernel: Kernel) -> None:
    """A regular expression holds the interpreter's lock until it has finished."""
    outside = Outside(kernel)

    def match(player: Player) -> None:
        outside.looks(2.0)

    await kernel.ask("a", match)
    assert [facts["seconds"] for facts in kernel.told("turn.slow")] == [1.8]


async def test_nothing_is_logged_between_turns(kernel: Kernel) -> None:
    outside = Outside(kernel)
    await kernel.ask("a", lambda player: None)
    kernel.tell("b", kernel.pause(20))
    await wait_all_tasks_blocked()
    outside.looks(0.25, 5.0)
    assert not kernel.told("turn.slow")


async def test_a_plain_turn_of_more_than_thirty_seconds_is_crashed_when_it_ends(kernel: Kernel) -> None:
    outside = Outside(kernel)
    with pytest.raises(Crashed):
        await kernel.ask("a", lambda player: outside.looks(0.25, 15.0, 31.0))
    assert kernel.told("actor.crashed")[0]["error"] == "Overdue: over 30 s"
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2


async def test_the_watchdog_has_a_thread_that_sees_the_loop_blocked_and_ends_with_it(
    kernel: Kernel, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one test that takes real time, since the thread does: a tenth of a second."""
    monkeypatch.setattr("troupe.actors.kernel.watchdog.SLOW_TURN", 0.05)
    monkeypatch.setattr("troupe.actors.kernel.watchdog.LOOK_EVERY", 0.01)
    stopping = trio.Event()
    await nursery.start(Watchdog(kernel.runtime.pools, kernel.record).run, stopping)

    def where_it_sleeps(player: Player) -> None:
        until = time.monotonic() + 5
        while not kernel.told("turn.slow") and time.monotonic() < until:
            time.sleep(0.01)

    await kernel.ask("a", where_it_sleeps)
    assert "in where_it_sleeps" in kernel.told("turn.slow")[0]["stack"]
    stopping.set()
    await wait_all_tasks_blocked()
    assert "troupe watchdog" not in {thread.name for thread in threading.enumerate()}


def test_frames_are_read_without_the_collector_which_is_on_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Python 3.12 a collection in this call may wait for ever for a thread that starts."""
    was_on: list[bool] = []

    def frames() -> dict[int, FrameType]:
        was_on.append(gc.isenabled())
        return {}

    monkeypatch.setattr(sys, "_current_frames", frames)
    assert innermost_frame(1) is None
    assert (was_on, gc.isenabled()) == ([False], True)

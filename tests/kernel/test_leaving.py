"""Askers that leave before their turn begins: their message is not handled, and their place is free for others."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import TimedOut
from troupe.actors.kernel.mailbox import CAPACITY, KEPT_FOR_HINTS

from .acting import Kernel, busy


async def test_the_message_of_an_asker_that_hung_up_before_its_turn_is_not_handled(kernel: Kernel) -> None:
    player = await busy(kernel, "a", seconds=5)
    with trio.move_on_after(1):
        await kernel.ask("a", player.note("asked"))
    await kernel.ask("a", lambda player: None)
    assert player.done == []


async def test_an_asker_that_hung_up_in_the_moment_before_its_turn_is_not_handled(kernel: Kernel) -> None:
    """It was cancelled by the turn before, and its task has not run since."""
    player = await busy(kernel, "a", seconds=5)
    with trio.CancelScope() as hung_up:
        kernel.tell("a", lambda player: hung_up.cancel())
        await kernel.ask("a", player.note("asked"))
    await kernel.ask("a", lambda player: None)
    assert hung_up.cancelled_caught
    assert player.done == []


async def test_askers_that_hung_up_leave_their_places_to_others(kernel: Kernel) -> None:
    player = await busy(kernel, "a", seconds=5)
    with trio.move_on_after(1):
        async with trio.open_nursery() as nursery:
            for _ in range(CAPACITY - KEPT_FOR_HINTS):
                nursery.start_soon(kernel.ask, "a", player.note("hung up"))
    assert await kernel.ask("a", lambda player: "answered") == "answered"
    assert player.done == []
    assert not kernel.told("mailbox.full")


async def test_an_asker_whose_deadline_has_passed_leaves_its_place_at_once(kernel: Kernel) -> None:
    player = await busy(kernel, "a", seconds=5)
    with pytest.raises(TimedOut):
        await kernel.ask("a", player.note("late"), deadline=trio.current_time() + 1)
    assert len(player.cell.mailbox) == 0


async def test_a_subscriber_that_hung_up_leaves_its_place_in_the_control_queue(
    kernel: Kernel, make_listener: Any
) -> None:
    player = await busy(kernel, "a", seconds=5)
    player.tell_player("a", player.note("told"))
    with trio.move_on_after(1):
        await kernel.subscribe("a", make_listener())
    assert (len(player.cell.mailbox), player.cell.mailbox.urgent) == (1, 0)
    await trio.sleep(5)
    assert player.done == ["told"]


async def test_what_was_told_is_handled_when_its_sender_has_gone(kernel: Kernel) -> None:
    player = await busy(kernel, "a", seconds=5)
    with trio.CancelScope() as sender:
        kernel.tell("a", player.note("told"))
        sender.cancel()
        await trio.lowlevel.checkpoint()
    await trio.sleep(6)
    assert player.done == ["told"]


async def test_nothing_is_loaded_for_askers_that_hung_up(kernel: Kernel) -> None:
    with trio.CancelScope() as asker:
        asker.cancel()
        await kernel.ask("a", lambda player: None)
    await wait_all_tasks_blocked()
    assert kernel.script.loads == []

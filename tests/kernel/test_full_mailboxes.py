"""Full mailboxes: an ask is refused, and all hints become one reload."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Busy, NotAnswered
from troupe.actors.kernel.mailbox import CAPACITY, KEPT_FOR_HINTS

from .acting import Kernel, busy, nothing_at_once


async def test_a_full_mailbox_refuses_asks_and_says_so(kernel: Kernel) -> None:
    await busy(kernel, "a")
    async with trio.open_nursery() as nursery:
        for _ in range(CAPACITY - KEPT_FOR_HINTS):
            nursery.start_soon(kernel.ask, "a", nothing_at_once)
        await wait_all_tasks_blocked()
        with pytest.raises(Busy) as refused:
            await kernel.ask("a", lambda player: None)
        assert isinstance(refused.value, NotAnswered)
        assert refused.value.retry_after > 0
    assert kernel.told("mailbox.full")[0]["decision"] == "refused"


async def test_a_full_mailbox_turns_all_its_hints_into_one_reload(kernel: Kernel) -> None:
    await busy(kernel, "a")
    for number in range(CAPACITY + 50):
        kernel.tell("a", lambda player, number=number: player.done.append(number))
    assert len(kernel.cell("a").mailbox) < CAPACITY
    assert [facts["decision"] for facts in kernel.told("mailbox.full")] == ["reload from rows"]
    loads = len(kernel.script.loads)
    await kernel.ask("a", lambda player: None)
    assert len(kernel.script.loads) == loads + 1
    assert not kernel.told("actor.crashed")


async def test_asks_in_a_full_mailbox_are_answered_after_the_reload(kernel: Kernel) -> None:
    await busy(kernel, "a")
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await kernel.ask("a", lambda player: f"incarnation {player.cell.incarnation}"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        for _ in range(CAPACITY):
            kernel.tell("a", lambda player: None)
    assert answers == ["incarnation 2"]


async def test_hints_that_never_end_do_not_keep_asks_from_being_answered(kernel: Kernel) -> None:
    """As many askers as there may be, and a hint each time the rows are read."""
    kernel.script.load = kernel.pause(0.01)
    await busy(kernel, "a")
    answered = 0

    async def ask() -> None:
        nonlocal answered
        await kernel.ask("a", lambda player: None)
        answered += 1

    async def chatter() -> None:
        while True:
            kernel.tell("a", lambda player: None)
            await trio.sleep(0.003)

    async with trio.open_nursery() as talk:
        async with trio.open_nursery() as askers:
            for _ in range(CAPACITY - KEPT_FOR_HINTS):
                askers.start_soon(ask)
            await wait_all_tasks_blocked()
            talk.start_soon(chatter)
        talk.cancel_scope.cancel()
    assert answered == CAPACITY - KEPT_FOR_HINTS


async def test_subscribing_is_possible_when_the_mailbox_is_full(kernel: Kernel, make_listener: Any) -> None:
    await busy(kernel, "a")
    for _ in range(CAPACITY):
        kernel.tell("a", lambda player: None)
    await kernel.subscribe("a", make_listener())
    assert kernel.cell("a").subscribers == 1

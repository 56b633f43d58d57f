"""Exceptions outside `Exception` in one actor crash that actor; the pool ends only when it is really cancelled."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Address, Crashed, Stopping

from .acting import Action, Kernel, Player, Said, fail_in_clean_up, nothing_at_once


def cancelled() -> BaseException:
    """What leaks out of a scope that the turn does not belong to."""
    return trio.Cancelled._create(source="deadline")  # pyright: ignore[reportPrivateUsage]  # Trio alone makes them


FOREIGN = {
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "GeneratorExit": GeneratorExit,
    "a group": lambda: BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError()]),
    "trio's Cancelled": cancelled,
    "asyncio's CancelledError": asyncio.CancelledError,
}
foreign = pytest.mark.parametrize("error", FOREIGN.values(), ids=FOREIGN)


@foreign
async def test_a_plain_turn_that_raises_it_crashes_its_actor_alone(kernel: Kernel, error: Any) -> None:
    def fail(player: Player) -> None:
        raise error()

    kernel.tell("b", lambda player: None)  # so that the drainer takes the turn
    with pytest.raises(Crashed):
        await kernel.ask("a", fail)
    await one_actor_crashed(kernel)


@foreign
async def test_a_turn_answered_at_once_that_raises_it_crashes_its_actor_alone(kernel: Kernel, error: Any) -> None:
    def fail(player: Player) -> None:
        raise error()

    await kernel.wake("a")
    with pytest.raises(Crashed):
        await kernel.ask("a", fail)
    await one_actor_crashed(kernel)


@foreign
async def test_a_waiting_turn_that_raises_it_crashes_its_actor_alone(kernel: Kernel, error: Any) -> None:
    async def fail(player: Player) -> None:
        await trio.sleep(1)
        raise error()

    with pytest.raises(Crashed):
        await kernel.ask("a", fail)
    await one_actor_crashed(kernel)


@foreign
async def test_a_load_that_raises_it_crashes_its_actor_alone(kernel: Kernel, error: Any) -> None:
    async def fail(player: Player) -> None:
        if player.cell.incarnation == 1:
            raise error()

    kernel.script.load = fail
    await kernel.ask("a", lambda player: None)
    await one_actor_crashed(kernel)


@foreign
async def test_a_hint_that_raises_it_twice_is_parked(kernel: Kernel, error: Any) -> None:
    def fail(player: Player) -> None:
        raise error()

    kernel.tell("a", fail)
    await trio.sleep(1)
    assert len(kernel.parked) == 1
    assert await kernel.ask("a", lambda player: "well") == "well"


@foreign
async def test_hooks_that_raise_it_end_nothing(kernel: Kernel, make_listener: Any, error: Any) -> None:
    def fail(*_: object) -> str:
        raise error()

    await kernel.wake("a")
    kernel.script.retired = kernel.script.describe = kernel.script.subscribed = fail
    with pytest.raises(Crashed):
        await kernel.subscribe("a", make_listener())
    await kernel.wake("a")
    assert "can't be described" in kernel.snapshot("a").holds
    kernel.runtime.resync(Address("player", "a"))
    assert await kernel.ask("a", lambda player: "well") == "well"


@foreign
async def test_a_subscriber_that_raises_it_is_cut_and_the_others_are_served(
    kernel: Kernel, make_listener: Any, error: Any
) -> None:
    broken, well = make_listener(), make_listener()
    for listener in (broken, well):
        await kernel.subscribe("a", listener)
    broken.wake_error = error()
    broken.cut_error = error()
    await kernel.ask("a", lambda player: player.feed.append(Said("update")))
    assert (broken.cuts, well.words) == (1, ["update"])


# The real ones


async def test_a_pool_that_is_really_cancelled_ends_with_its_turns_and_loads(kernel: Kernel) -> None:
    kernel.stopping.set()
    await wait_all_tasks_blocked()
    stopped = 0

    async def ask(key: str, action: Action) -> None:
        nonlocal stopped
        with pytest.raises(Stopping):
            await kernel.ask(key, action)
        stopped += 1

    async with trio.open_nursery() as askers, trio.open_nursery() as life:
        await life.start(kernel.pool.run, trio.Event())
        askers.start_soon(ask, "waiting", kernel.pause(9))
        await wait_all_tasks_blocked()
        kernel.script.load = kernel.pause(9)
        askers.start_soon(ask, "loading", nothing_at_once)
        await wait_all_tasks_blocked()
        life.cancel_scope.cancel()
    assert stopped == 2
    assert not kernel.told("actor.crashed")


async def test_a_turn_that_fails_while_its_pool_is_cancelled_does_not_fail_the_pool(kernel: Kernel) -> None:
    kernel.stopping.set()
    await wait_all_tasks_blocked()

    async with trio.open_nursery() as life:
        await life.start(kernel.pool.run, trio.Event())
        kernel.tell("a", fail_in_clean_up)
        await wait_all_tasks_blocked()
        life.cancel_scope.cancel()
    assert kernel.told("actor.crashed")[0]["error"].startswith("ExceptionGroup")


@pytest.mark.parametrize("waiting", [False, True], ids=["plain", "waiting"])
def test_a_real_ctrl_c_during_a_turn_ends_the_program_and_crashes_no_actor(*, waiting: bool) -> None:
    kernels: list[Kernel] = []
    ended: list[str] = []

    async def main() -> None:
        kernel = Kernel()
        kernels.append(kernel)

        def press(player: Player) -> object:
            signal.raise_signal(signal.SIGINT)
            ended.append("the turn")
            return kernel.pause(0)(player) if waiting else None

        async with trio.open_nursery() as nursery:
            await nursery.start(kernel.pool.run, kernel.stopping)
            kernel.tell("a", press)
            await trio.sleep(60)

    with pytest.raises(BaseExceptionGroup) as interrupted:
        trio.run(main)
    assert interrupted.group_contains(KeyboardInterrupt)
    assert ended == ["the turn"]
    assert not kernels[0].told("actor.crashed")


async def one_actor_crashed(kernel: Kernel) -> None:
    assert [facts["actor"] for facts in kernel.told("actor.crashed")] == ["player/a"]
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2
    assert await kernel.ask("b", lambda player: "well") == "well"

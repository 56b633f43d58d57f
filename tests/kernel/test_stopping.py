"""How a pool stops: mail is handled, each asker gets an answer, and it waits for nothing in vain."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Address, Crashed, NotAnswered, Stopping

from .acting import Action, Kernel, Player, nothing_at_once


async def test_mail_that_waits_is_handled_before_the_pool_stops(kernel: Kernel) -> None:
    kernel.script.load = kernel.pause(1)
    answers: list[int] = []

    async def ask(number: int) -> None:
        answers.append(await kernel.ask("a", lambda player: number))

    async with trio.open_nursery() as nursery:
        kernel.tell("a", kernel.pause(2))
        for number in range(5):
            nursery.start_soon(ask, number)
        await wait_all_tasks_blocked()
        kernel.stopping.set()
    assert sorted(answers) == list(range(5))


async def test_a_pool_ends_when_its_last_message_was_handled(kernel: Kernel) -> None:
    kernel.tell("a", kernel.pause(2))
    kernel.tell("a", lambda player: None)
    await wait_all_tasks_blocked()
    kernel.stopping.set()
    await trio.sleep(3)
    assert not kernel.pool.cells


async def test_a_pool_that_stops_takes_no_new_messages(kernel: Kernel) -> None:
    player = await kernel.wake("a")
    kernel.tell("a", kernel.pause(2))
    await wait_all_tasks_blocked()
    kernel.stopping.set()
    await wait_all_tasks_blocked()
    with pytest.raises(Stopping) as told:
        await kernel.ask("a", lambda player: None)
    assert isinstance(told.value, NotAnswered)
    kernel.tell("a", lambda player: player.done.append("too late"))
    kernel.runtime.resync(Address("player", "a"))
    await trio.sleep(3)
    assert player.done == []
    assert kernel.script.loads == ["a"]


async def test_a_pool_that_does_not_run_says_so(kernel: Kernel, make_listener: Any) -> None:
    kernel.stopping.set()
    await wait_all_tasks_blocked()
    with pytest.raises(Stopping):
        await kernel.ask("a", lambda player: None)
    with pytest.raises(Stopping):
        await kernel.subscribe("a", make_listener())


async def test_stopping_does_not_wait_for_actors_that_rest_after_a_crash(kernel: Kernel) -> None:
    for _ in range(4):
        with pytest.raises(Crashed):
            await kernel.ask("a", lambda player: 1 / 0, deadline=trio.current_time() + 60)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(told_stopping, kernel, "a")
        await wait_all_tasks_blocked()
        stopped_at = trio.current_time()
        kernel.stopping.set()
    assert trio.current_time() == stopped_at


async def test_stopping_cuts_every_stream_and_retires_every_actor(kernel: Kernel, make_listener: Any) -> None:
    listeners = {key: make_listener() for key in "abc"}
    for key, listener in listeners.items():
        await kernel.subscribe(key, listener)
    listeners["a"].cut_error = OSError("gone")
    kernel.stopping.set()
    await wait_all_tasks_blocked()
    assert [listener.cuts for listener in listeners.values()] == [1, 1, 1]
    assert sorted(kernel.script.retirements) == ["a", "b", "c"]
    assert not kernel.pool.cells


async def test_streams_can_be_cut_before_the_pool_stops(kernel: Kernel, make_listener: Any) -> None:
    listener = make_listener()
    await kernel.subscribe("a", listener)
    kernel.pool.cut_streams()
    assert listener.cuts == 1
    assert await kernel.ask("a", lambda player: "goes on") == "goes on"


async def test_a_pool_that_is_cut_off_answers_all_askers(kernel: Kernel) -> None:
    """In a turn, behind it, in a load, in a rest, and with a turn that has not even got its task."""
    await stop(kernel)
    async with trio.open_nursery() as askers, trio.open_nursery() as life:
        await life.start(kernel.pool.run, trio.Event())
        askers.start_soon(told_stopping, kernel, "working", kernel.pause(9))
        await wait_all_tasks_blocked()
        askers.start_soon(told_stopping, kernel, "working")
        for _ in range(2):
            with pytest.raises(Crashed):
                await kernel.ask("resting", lambda player: 1 / 0)
        askers.start_soon(told_stopping, kernel, "resting")
        kernel.script.load = kernel.pause(9)
        askers.start_soon(told_stopping, kernel, "loading")
        await wait_all_tasks_blocked()
        life.cancel_scope.cancel()


async def test_a_turn_that_has_no_task_yet_is_closed_when_the_pool_is_cut_off(kernel: Kernel) -> None:
    await stop(kernel)
    turns: list[Coroutine[object, object, None]] = []
    async with trio.open_nursery() as life:
        await life.start(kernel.pool.run, trio.Event())

        def cut_off_and_wait(player: Player) -> Coroutine[object, object, None]:
            life.cancel_scope.cancel()
            turns.append(kernel.pause(9)(player))
            return turns[0]

        kernel.tell("a", cut_off_and_wait)
    assert inspect.getcoroutinestate(turns[0]) == inspect.CORO_CLOSED


async def test_a_pool_runs_again_after_it_has_stopped(kernel: Kernel) -> None:
    """Its supervisor starts it again after a crash of a child before it."""
    await kernel.ask("a", lambda player: player.done.append("before"))
    await stop(kernel)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        kernel.tell("a", lambda player: player.done.append("between"))
        await nursery.start(kernel.pool.run, stopping)
        assert await kernel.ask("a", lambda player: list(player.done)) == []
        stopping.set()


async def test_a_pool_shows_what_it_does(kernel: Kernel, make_listener: Any) -> None:
    await kernel.subscribe("a", make_listener())
    kernel.tell("b", kernel.pause(1))
    await wait_all_tasks_blocked()
    assert kernel.pool.summary() == {"awake": 2, "waiting": 1, "queued": 0, "subscribers": 1, "troubled": []}
    snapshot = kernel.snapshot("a")
    assert (snapshot.summary.phase, snapshot.summary.depth, snapshot.summary.subscribers) == ("ready", 0, 1)
    assert (snapshot.incarnation, snapshot.holds) == (1, "0 done")


async def stop(kernel: Kernel) -> None:
    kernel.stopping.set()
    await wait_all_tasks_blocked()


async def told_stopping(kernel: Kernel, key: str, action: Action = nothing_at_once) -> None:
    with pytest.raises(Stopping):
        await kernel.ask(key, action, deadline=trio.current_time() + 60)

"""Turns: one message from start to end, plain or waiting, one at a time; no actor waits for the mail of another."""

from __future__ import annotations

import contextvars
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from trio.testing import assert_no_checkpoints, wait_all_tasks_blocked

from troupe.actors.kernel import Actor, Address, Busy, Crashed, Message, Refused, TimedOut, turn
from troupe.actors.kernel.drainer import BUDGET
from troupe.actors.kernel.mailbox import CAPACITY, KEPT_FOR_HINTS

from .acting import Action, Do, Kernel, MakeKernel, Player, busy, nothing_at_once

WHO = contextvars.ContextVar("WHO", default="unknown")


@dataclass(frozen=True, slots=True)
class Letter(Message[None]):
    """A hint."""


@dataclass(frozen=True, slots=True)
class Question(Message[int]):
    """A query."""


async def test_a_plain_turn_answers(kernel: Kernel) -> None:
    assert await kernel.ask("a", lambda player: 7) == 7


async def test_an_async_turn_answers(kernel: Kernel) -> None:
    async def wait(player: Player) -> int:
        await trio.sleep(3)
        return 7

    assert await kernel.ask("a", wait) == 7


async def test_a_plain_function_may_find_that_it_has_to_wait_and_return_a_coroutine(kernel: Kernel) -> None:
    async def wait() -> str:
        await trio.sleep(1)
        return "from rows"

    def look(player: Player) -> object:
        return wait() if not player.done else "from memory"

    assert await kernel.ask("a", look) == "from rows"
    await kernel.ask("a", lambda player: player.done.append(1))
    assert await kernel.ask("a", look) == "from memory"


async def test_a_refusal_is_returned_by_the_turn_and_raised_to_the_asker_and_is_no_crash(kernel: Kernel) -> None:
    with pytest.raises(Refused) as refusal:
        await kernel.ask("a", lambda player: Refused(422, "No.", {"text": ["too long"]}))
    assert (refusal.value.status, refusal.value.text, refusal.value.details) == (422, "No.", {"text": ["too long"]})
    assert kernel.cell("a").incarnation == 1
    assert not kernel.told("actor.crashed")


async def test_a_refusal_that_is_raised_instead_of_returned_is_a_crash(kernel: Kernel) -> None:
    def refuse(player: Player) -> None:
        raise Refused(422, "No.")

    with pytest.raises(Crashed):
        await kernel.ask("a", refuse)
    assert kernel.told("actor.crashed")[0]["error"].startswith("Refused")


async def test_one_refusal_given_to_many_askers_does_not_collect_their_frames(kernel: Kernel) -> None:
    refusal = Refused(404, "Record not found")

    def frames() -> int:
        return sum(1 for _ in iter_frames(refusal))

    lengths: list[int] = []
    await kernel.wake("a")
    for _ in range(5):
        with pytest.raises(Refused):
            await kernel.ask("a", lambda player: refusal)
        lengths.append(frames())
    assert len(set(lengths)) == 1


async def test_messages_are_handled_in_the_order_they_came(kernel: Kernel) -> None:
    for number in range(20):
        kernel.tell("a", lambda player, number=number: player.done.append(number))
    assert await kernel.ask("a", lambda player: list(player.done)) == list(range(20))


async def test_mail_waits_while_a_turn_waits(kernel: Kernel) -> None:
    player = await kernel.wake("a")

    async def slowly(player: Player) -> None:
        player.done.append("began")
        await trio.sleep(5)
        player.done.append("ended")

    kernel.tell("a", slowly)
    kernel.tell("a", lambda player: player.done.append("next"))
    await wait_all_tasks_blocked()
    assert player.done == ["began"]
    await kernel.ask("a", lambda player: None)
    assert player.done == ["began", "ended", "next"]


async def test_a_waiting_turn_of_one_actor_does_not_hold_up_another(kernel: Kernel) -> None:
    kernel.tell("a", kernel.pause(20))
    began = trio.current_time()
    await kernel.ask("b", lambda player: None)
    assert trio.current_time() == began


async def test_an_actor_may_tell_itself_and_takes_that_turn_later(kernel: Kernel) -> None:
    def begin(player: Player) -> None:
        player.tell_player("a", player.note("second"))
        player.done.append("first")

    await kernel.ask("a", begin)
    assert await kernel.ask("a", lambda player: list(player.done)) == ["first", "second"]


async def test_tell_does_not_wait_even_for_an_actor_that_has_to_be_loaded(kernel: Kernel) -> None:
    with assert_no_checkpoints():
        kernel.tell("a", lambda player: player.done.append(1))
    assert kernel.script.loads == []
    await wait_all_tasks_blocked()
    assert kernel.player("a").done == [1]


async def test_an_actor_at_rest_answers_a_plain_question_without_a_task_switch(kernel: Kernel) -> None:
    await kernel.wake("a")
    with assert_no_checkpoints():
        assert await kernel.ask("a", lambda player: "at once") == "at once"


async def test_an_answer_at_once_does_not_overtake_mail(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell("a", lambda player: player.done.append("told before"))
    assert await kernel.ask("a", lambda player: list(player.done)) == ["told before"]


async def test_a_crash_in_an_answer_at_once_is_told_to_the_asker_and_restarts_the_actor(kernel: Kernel) -> None:
    await kernel.wake("a")
    with pytest.raises(Crashed):
        await kernel.ask("a", lambda player: 1 / 0)
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2


async def test_an_answer_at_once_may_tell_the_asked_actor_itself(kernel: Kernel) -> None:
    await kernel.wake("a")
    await kernel.ask("a", lambda player: player.tell_player("a", player.note("later")))
    assert await kernel.ask("a", lambda player: list(player.done)) == ["later"]


async def test_a_kind_refuses_messages_it_has_no_turn_for_at_the_sender(kernel: Kernel) -> None:
    with pytest.raises(TypeError, match="no turn for str"):
        kernel.runtime.tell(Address("player", "a"), "hello")  # pyright: ignore[reportArgumentType]  # the type checker says so too
    with pytest.raises(TypeError, match="no turn for str"):
        await kernel.runtime.ask(Address("player", "a"), "hello")  # pyright: ignore[reportArgumentType]  # the type checker says so too
    assert not kernel.pool.cells


def test_a_kind_has_one_turn_for_a_message() -> None:
    class Lonely(Actor):
        """For this test."""

    def read(actor: Lonely, message: Letter) -> None:
        """For this test."""

    turn(Lonely, Letter)(read)
    with pytest.raises(TypeError, match="two turns for Letter"):
        turn(Lonely, Letter)(read)
    assert Letter not in Actor.turns


def test_a_turn_takes_the_messages_that_it_is_registered_for() -> None:
    class Lonely(Actor):
        """For this test."""

    def read(actor: Lonely, message: Question) -> None:
        """For this test."""

    with pytest.raises(TypeError, match="read takes Question, and was registered for Letter"):
        turn(Lonely, Letter)(read)  # pyright: ignore[reportArgumentType]  # the type checker says so too
    assert Letter not in Lonely.turns


async def test_turns_do_not_inherit_the_context_of_their_sender(kernel: Kernel) -> None:
    async def look(player: Player) -> str:
        await trio.lowlevel.checkpoint()
        return WHO.get()

    WHO.set("a request")
    kernel.script.load = lambda player: note_context(player.done)
    assert await kernel.ask("a", look) == "unknown"
    assert kernel.player("a").done == ["unknown"]


# Reloads


async def test_a_reload_wanted_while_a_turn_waits_comes_after_the_turn_and_before_the_next(kernel: Kernel) -> None:
    await kernel.wake("a")

    def incarnation(player: Player) -> int:
        return player.cell.incarnation

    async def slowly(player: Player) -> int:
        await trio.sleep(5)
        return incarnation(player)

    incarnations: list[int] = []

    async def ask(action: Action) -> None:
        incarnations.append(await kernel.ask("a", action))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, slowly)
        await wait_all_tasks_blocked()
        kernel.runtime.resync(Address("player", "a"))
        nursery.start_soon(ask, incarnation)
    assert incarnations == [1, 2]


async def test_a_reload_forgets_memory_and_is_no_crash(kernel: Kernel) -> None:
    await kernel.ask("a", lambda player: player.done.append(1))
    kernel.runtime.resync(Address("player", "a"))
    assert await kernel.ask("a", lambda player: list(player.done)) == []
    assert kernel.script.retirements == ["a"]
    assert kernel.told("actor.restored")[0]["incarnation"] == 2


async def test_a_reload_is_not_for_the_sleeping(kernel: Kernel) -> None:
    kernel.runtime.resync(Address("player", "a"))
    kernel.runtime.tell_awake(Address("player", "a"), Do(lambda player: None))
    await wait_all_tasks_blocked()
    assert not kernel.pool.cells


async def test_subscribing_goes_before_the_mail_that_waits(kernel: Kernel, make_listener: Any) -> None:
    kernel.script.subscribed = lambda player, subscriber: player.done.append("subscribed")
    player = await busy(kernel, "a")
    for number in range(3):
        kernel.tell("a", lambda player, number=number: player.done.append(number))
    await kernel.subscribe("a", make_listener())
    await wait_all_tasks_blocked()
    assert player.done == ["subscribed", 0, 1, 2]


# Fairness


async def test_an_actor_with_much_mail_does_not_starve_the_others(kernel: Kernel) -> None:
    """Turns go round: one message each."""
    order: list[str] = []
    for key in "ab":
        await kernel.wake(key)
    for _ in range(100):
        kernel.tell("a", lambda player: order.append("a"))
    kernel.tell("b", lambda player: order.append("b"))
    await wait_all_tasks_blocked()
    assert order.index("b") <= 1
    assert len(order) == 101


async def test_other_tasks_run_between_plain_turns_after_about_a_millisecond(kernel: Kernel) -> None:
    turns_before_the_other_task: list[int] = []
    taken = 0

    def work(player: Player) -> None:
        nonlocal taken
        taken += 1
        spin(BUDGET / 4)

    async def other() -> None:
        turns_before_the_other_task.append(taken)

    await kernel.wake("a")
    for _ in range(40):
        kernel.tell("a", work)
    async with trio.open_nursery() as nursery:
        await trio.lowlevel.checkpoint()
        nursery.start_soon(other)
    assert turns_before_the_other_task[0] <= 10


async def test_a_chain_of_asks_answered_at_once_lets_other_tasks_run_after_about_a_millisecond(kernel: Kernel) -> None:
    await kernel.wake("a")
    assert await asks_before_another_task_runs(kernel, lambda player: None) <= 10


async def test_a_chain_of_asks_refused_at_once_lets_other_tasks_run_after_about_a_millisecond(kernel: Kernel) -> None:
    await busy(kernel, "a")
    async with trio.open_nursery() as nursery:
        for _ in range(CAPACITY - KEPT_FOR_HINTS):
            nursery.start_soon(kernel.ask, "a", nothing_at_once)
        await wait_all_tasks_blocked()
        assert await asks_before_another_task_runs(kernel, lambda player: None) <= 10


async def test_asks_that_are_no_chain_are_answered_without_a_task_switch(kernel: Kernel) -> None:
    """The budget is one of time without a switch, not of time since the last ask."""
    await kernel.wake("a")
    for _ in range(3):
        await kernel.ask("a", lambda player: spin(BUDGET * 2))
        await trio.lowlevel.checkpoint()
        with assert_no_checkpoints():
            await kernel.ask("a", lambda player: None)


async def test_a_fan_out_reaches_everyone_awake(kernel: Kernel) -> None:
    keys = [str(number) for number in range(500)]
    cells = [(await kernel.wake(key)).cell for key in keys]
    kernel.tell("7", lambda player: player.done.append("own"))
    kernel.runtime.tell_cells("player", cells, Do(lambda player: player.done.append("all")))
    await wait_all_tasks_blocked()
    assert [kernel.player(key).done for key in keys if key != "7"] == [["all"]] * 499
    assert kernel.player("7").done == ["own", "all"]


async def test_a_fan_out_reaches_actors_at_work_and_such_as_are_being_loaded(kernel: Kernel) -> None:
    await busy(kernel, "a")
    kernel.script.load = kernel.pause(1)
    kernel.tell("b", lambda player: None)
    await wait_all_tasks_blocked()
    cells = [kernel.cell("a"), kernel.cell("b")]
    kernel.runtime.tell_cells("player", cells, Do(lambda player: player.done.append("all")))
    for key in "ab":
        assert await kernel.ask(key, lambda player: player.done[-1]) == "all"


async def test_the_next_actor_is_a_choice_when_the_runtime_has_a_chooser(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(choose=lambda names: names.index(max(names)))
    order: list[str] = []
    for key in "abc":
        kernel.tell(key, lambda player: order.append(player.address.key))
    await wait_all_tasks_blocked()
    assert order == ["c", "b", "a"]


# Asks that are not waited for to the end


async def slowly(player: Player) -> None:
    await trio.sleep(5)
    player.done.append("ended")


async def test_an_ask_ends_at_its_deadline_and_the_turn_goes_on(kernel: Kernel) -> None:
    player = await kernel.wake("a")
    deadline = trio.current_time() + 2

    with pytest.raises(TimedOut):
        await kernel.ask("a", slowly, deadline=deadline)
    assert trio.current_time() == deadline
    await kernel.ask("a", lambda player: None)
    assert player.done == ["ended"]


async def test_an_ask_without_a_deadline_gets_one(kernel: Kernel) -> None:
    began = trio.current_time()
    with pytest.raises(TimedOut):
        await kernel.ask("a", kernel.pause(25))
    assert trio.current_time() == began + 10


async def test_the_turn_of_an_ask_that_is_late_is_not_taken(kernel: Kernel) -> None:
    await busy(kernel, "a", seconds=5)
    with pytest.raises(TimedOut):
        await kernel.ask("a", lambda player: player.done.append("late"), deadline=trio.current_time() + 1)
    assert await kernel.ask("a", lambda player: list(player.done)) == []


async def test_an_asker_that_is_cancelled_does_not_cancel_the_turn(kernel: Kernel) -> None:
    player = await kernel.wake("a")

    with trio.move_on_after(1):
        await kernel.ask("a", slowly)
    assert player.done == []
    await trio.sleep(10)
    assert player.done == ["ended"]
    assert player.cell.incarnation == 1


async def test_a_subscriber_whose_asker_has_gone_does_not_join(kernel: Kernel, make_listener: Any) -> None:
    """Its session would never take it out again."""
    await busy(kernel, "a", seconds=5)
    listener = make_listener()
    with trio.move_on_after(1) as scope:
        await kernel.subscribe("a", listener)
    assert scope.cancelled_caught
    await kernel.ask("a", lambda player: None)
    assert kernel.cell("a").subscribers == 0


async def asks_before_another_task_runs(kernel: Kernel, action: Action) -> int:
    """The number of asks in a row, at most 40, that `a` answers or refuses before a task that can run does."""
    asked = 0
    before: list[int] = []

    async def other() -> None:
        before.append(asked)

    await trio.lowlevel.checkpoint()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        for _ in range(40):
            asked += 1
            spin(BUDGET / 4)
            with suppress(Busy):
                await kernel.ask("a", action)
    return before[0]


def spin(seconds: float) -> None:
    """Work without yielding, in real time."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


async def note_context(done: list[object]) -> None:
    done.append(WHO.get())


def iter_frames(error: BaseException) -> Any:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next

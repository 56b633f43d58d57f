"""Supervision of actors: back-off, quarantine, parked messages, and what survives a restart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NoReturn

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.facts.fact import LearnFact
from troupe.actors.facts.marks import MarkedStatus
from troupe.actors.kernel import Actor, Address, Crashed, NotAnswered, Quarantined, RestartPolicy, turn
from troupe.storage.engine.database import Doubtful, Unavailable

from .acting import Action, Do, Kernel, Player, Said, nothing_at_once


def crash(player: Player) -> NoReturn:
    raise ValueError("memory may be wrong")


async def crash_waiting(player: Player) -> None:
    await trio.sleep(0.01)
    raise ValueError("memory may be wrong")


@pytest.mark.parametrize("action", [crash, crash_waiting], ids=["plain", "waiting"])
async def test_the_asker_is_told_of_a_crash_and_the_next_one_finds_a_new_incarnation(
    kernel: Kernel, action: Any
) -> None:
    with pytest.raises(Crashed) as told:
        await kernel.ask("a", action)
    assert isinstance(told.value, NotAnswered)
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2


async def test_state_does_not_survive_a_restart(kernel: Kernel) -> None:
    await kernel.ask("a", lambda player: player.done.append(1))
    with pytest.raises(Crashed):
        await kernel.ask("a", crash)
    assert await kernel.ask("a", lambda player: list(player.done)) == []


async def test_the_mailbox_survives_a_restart(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell("a", crash_waiting)
    for number in range(3):
        kernel.tell("a", lambda player, number=number: player.done.append(number))
    await trio.sleep(1)
    assert kernel.player("a").done == [0, 1, 2]


async def test_subscribers_survive_a_restart_and_are_shown_what_the_load_makes_up(
    kernel: Kernel, make_listener: Any
) -> None:
    listener = make_listener()
    await kernel.subscribe("a", listener)

    async def load(player: Player) -> None:
        player.feed.append(Said("missed"))

    kernel.script.load = load
    with pytest.raises(Crashed):
        await kernel.ask("a", crash)
    await wait_all_tasks_blocked()
    assert listener.words == ["missed"]
    assert listener.cuts == 0


async def test_what_a_turn_logged_before_it_crashed_is_shown_after_the_restart(
    kernel: Kernel, make_listener: Any
) -> None:
    """A subscriber is a cursor: it is moved to the head after every turn and after every restart."""
    listener = make_listener()
    await kernel.subscribe("a", listener)

    def log_and_crash(player: Player) -> None:
        player.feed.append(Said("committed"))
        raise ValueError

    with pytest.raises(Crashed):
        await kernel.ask("a", log_and_crash)
    await wait_all_tasks_blocked()
    assert listener.words == ["committed"]


async def test_a_crashed_actor_is_loaded_again_even_without_mail(kernel: Kernel) -> None:
    with pytest.raises(Crashed):
        await kernel.ask("a", crash)
    await wait_all_tasks_blocked()
    assert kernel.script.loads == ["a", "a"]
    assert kernel.told("actor.restored")[0]["restored"] == "0 done"


async def test_restarts_come_at_once_then_after_longer_and_longer_rests(kernel: Kernel) -> None:
    rests: list[float] = []
    for _ in range(5):
        await kernel.wake("a")
        crashed_at = trio.current_time()
        with pytest.raises(Crashed):
            await kernel.ask("a", crash)
        await kernel.ask("a", lambda player: None, deadline=trio.current_time() + 60)
        rests.append(round(trio.current_time() - crashed_at, 6))
    assert rests == [0, 0.1, 0.5, 2, 10]
    assert [facts["decision"] for facts in kernel.told("actor.crashed")] == [
        "restart in 0 s", "restart in 0.1 s", "restart in 0.5 s", "restart in 2 s", "restart in 10 s",
    ]  # fmt: skip


def test_a_rest_is_lengthened_by_chance_so_that_many_do_not_come_back_as_one() -> None:
    assert RestartPolicy().rest(5, lambda: 0.0) == 10
    assert RestartPolicy().rest(5, lambda: 1.0) == 12


async def test_the_sixth_crash_in_a_minute_brings_quarantine(kernel: Kernel) -> None:
    await crash_often(kernel, "a", 5)
    assert not kernel.told("actor.quarantined")
    await crash_often(kernel, "a", 1)
    facts = kernel.told("actor.quarantined")[0]
    assert (facts["actor"], facts["crashes_60s"]) == ("player/a", 6)


async def test_crashes_of_more_than_a_minute_ago_are_forgotten(kernel: Kernel) -> None:
    await crash_often(kernel, "a", 5)
    await trio.sleep(61)
    await crash_often(kernel, "a", 5)
    assert kernel.told("actor.crashed")[5]["crashes_60s"] == 1
    assert not kernel.told("actor.quarantined")


async def test_a_quarantined_actor_answers_at_once_that_it_is_in_quarantine(kernel: Kernel, make_listener: Any) -> None:
    await crash_often(kernel, "a", 6)
    began = trio.current_time()
    with pytest.raises(Quarantined) as told:
        await kernel.ask("a", lambda player: None)
    assert told.value.retry_after == 60
    with pytest.raises(Quarantined):
        await kernel.subscribe("a", make_listener())
    assert trio.current_time() == began


async def test_quarantine_is_for_that_one_actor(kernel: Kernel) -> None:
    await crash_often(kernel, "a", 6)
    assert await kernel.ask("b", lambda player: "well") == "well"


async def test_who_waits_for_an_actor_is_told_when_it_goes_into_quarantine(kernel: Kernel, make_listener: Any) -> None:
    listener = make_listener()
    await kernel.subscribe("a", listener)
    await crash_often(kernel, "a", 5)
    errors: list[str] = []

    async def ask(action: Action) -> None:
        try:
            await kernel.ask("a", action, deadline=trio.current_time() + 60)
        except NotAnswered as error:
            errors.append(type(error).__name__)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, crash_waiting)
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, nothing_at_once)
    assert sorted(errors) == ["Crashed", "Quarantined"]
    assert listener.cuts == 1


async def test_quarantine_ends_after_ten_minutes_with_a_clean_record(kernel: Kernel) -> None:
    await crash_often(kernel, "a", 6)
    await trio.sleep(598)
    with pytest.raises(Quarantined):
        await kernel.ask("a", lambda player: None)
    await trio.sleep(3)
    assert await kernel.ask("a", lambda player: "free") == "free"
    assert len(kernel.told("actor.released")) == 1
    await crash_often(kernel, "a", 1)
    assert kernel.told("actor.crashed")[-1]["crashes_60s"] == 1


async def test_quarantine_ends_when_the_actor_is_released(kernel: Kernel) -> None:
    await crash_often(kernel, "a", 6)
    kernel.pool.recovery.release(kernel.cell("a"))
    assert await kernel.ask("a", lambda player: "free") == "free"
    await crash_often(kernel, "a", 1)
    assert kernel.told("actor.crashed")[-1]["crashes_60s"] == 1


async def test_hints_to_a_quarantined_actor_are_answered_for_by_its_reload(kernel: Kernel) -> None:
    await crash_often(kernel, "a", 6)
    loads = len(kernel.script.loads)
    for _ in range(1_000):
        kernel.tell("a", crash)
    kernel.pool.recovery.release(kernel.cell("a"))
    await kernel.ask("a", lambda player: None)
    assert len(kernel.script.loads) == loads + 1


async def test_the_same_hint_crashing_twice_is_parked_and_the_actor_goes_on(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell("a", crash)
    kernel.tell("a", lambda player: player.done.append("went on"))
    await trio.sleep(1)
    assert kernel.player("a").done == ["went on"]
    ((address, envelope, error),) = kernel.parked
    assert (str(address), envelope.kind, str(error)) == ("player/a", "Do", "memory may be wrong")
    assert kernel.told("message.parked")[0]["message_id"] == envelope.id
    assert len(kernel.told("actor.crashed")) == 2


def crash_at_first(player: Player) -> None:
    if player.cell.incarnation == 1:
        raise ValueError
    player.done.append("handled")


async def test_a_hint_that_crashes_once_is_handled_by_the_next_incarnation(kernel: Kernel) -> None:
    kernel.tell("a", crash_at_first)
    await trio.sleep(1)
    assert kernel.player("a").done == ["handled"]
    assert not kernel.parked


async def test_a_hint_for_many_counts_its_crashes_for_each_of_them(kernel: Kernel) -> None:
    """It is one envelope in all mailboxes, but each actor has its own two tries."""
    cells = [(await kernel.wake(key)).cell for key in "abc"]

    kernel.runtime.tell_cells("player", cells, Do(crash_at_first))
    await trio.sleep(1)
    assert [kernel.player(key).done for key in "abc"] == [["handled"]] * 3
    assert not kernel.parked


async def test_an_ask_that_crashes_is_not_tried_again(kernel: Kernel) -> None:
    tries: list[int] = []

    def count(player: Player) -> None:
        tries.append(1)
        raise ValueError

    with pytest.raises(Crashed):
        await kernel.ask("a", count)
    await trio.sleep(1)
    assert tries == [1]
    assert not kernel.parked


# The database


async def test_without_a_database_an_asker_is_told_and_memory_stays(kernel: Kernel) -> None:
    await kernel.ask("a", lambda player: player.done.append("kept"))
    with pytest.raises(Unavailable):
        await kernel.ask("a", unavailable)
    assert await kernel.ask("a", lambda player: list(player.done)) == ["kept"]
    assert not kernel.told("actor.crashed")


async def test_without_a_database_a_hint_is_tried_until_it_is_back(kernel: Kernel) -> None:
    tries: list[float] = []

    async def try_to_handle(player: Player) -> None:
        tries.append(trio.current_time())
        if len(tries) < 10:
            raise Unavailable("restarting")
        player.done.append("handled")

    kernel.tell("a", try_to_handle)
    kernel.tell("a", lambda player: player.done.append("after it"))
    await trio.sleep(10)
    assert kernel.player("a").done == ["handled", "after it"]
    assert kernel.player("a").cell.incarnation == 1
    assert {round(later - earlier, 3) for earlier, later in pairwise(tries)} == {0.5}


async def test_a_commit_in_doubt_is_a_crash_since_memory_may_be_wrong(kernel: Kernel) -> None:
    async def doubt(player: Player) -> None:
        raise Doubtful("lost in COMMIT")

    with pytest.raises(Crashed):
        await kernel.ask("a", doubt)
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2


# Turns with tasks of their own


async def test_a_turn_whose_child_tasks_fail_crashes_its_actor_alone(kernel: Kernel) -> None:
    async def fail(player: Player) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(crash_waiting, player)

    with pytest.raises(Crashed):
        await kernel.ask("a", fail)
    assert kernel.told("actor.crashed")[0]["error"].startswith("ExceptionGroup")
    assert await kernel.ask("a", lambda player: "well") == "well"


async def test_a_turn_that_cancels_a_part_of_itself_is_no_crash(kernel: Kernel) -> None:
    async def give_up(player: Player) -> str:
        with trio.CancelScope() as scope:
            scope.cancel()
            await trio.sleep(5)
        return "went on"

    assert await kernel.ask("a", give_up) == "went on"
    assert not kernel.told("actor.crashed")


# Hooks that fail


async def test_an_actor_that_cannot_be_retired_goes_all_the_same(kernel: Kernel) -> None:
    kernel.script.retired = crash
    with pytest.raises(Crashed):
        await kernel.ask("a", crash)
    assert await kernel.ask("a", lambda player: player.cell.incarnation) == 2
    await trio.sleep(700)
    assert "a" not in kernel.pool.cells


async def test_an_actor_that_cannot_describe_itself_is_restored_and_inspected_all_the_same(kernel: Kernel) -> None:
    kernel.script.describe = crash
    with pytest.raises(Crashed):
        await kernel.ask("a", crash)
    await kernel.wake("a")
    assert kernel.told("actor.restored")[0]["restored"] == "can't be described: ValueError"
    assert "ValueError" in kernel.snapshot("a").holds


async def test_an_actor_that_fails_at_a_new_subscriber_crashes_and_the_subscriber_is_out(
    kernel: Kernel, make_listener: Any
) -> None:
    kernel.script.subscribed = lambda player, subscriber: crash(player)
    with pytest.raises(Crashed):
        await kernel.subscribe("a", make_listener())
    await kernel.wake("a")
    assert kernel.cell("a").subscribers == 0
    assert kernel.cell("a").incarnation == 2


async def test_a_subscriber_that_raises_is_cut_and_the_turn_is_no_crash(kernel: Kernel, make_listener: Any) -> None:
    broken, well = make_listener(), make_listener()
    for listener in (broken, well):
        await kernel.subscribe("a", listener)
    broken.wake_error = OSError("gone")
    await kernel.ask("a", lambda player: player.feed.append(Said("update")))
    assert (broken.cuts, well.words) == (1, ["update"])
    assert kernel.told("stream.cut")[0]["error"] == "OSError: gone"
    assert not kernel.told("actor.crashed")


async def test_a_subscriber_that_does_not_read_is_cut_and_the_operator_is_told(
    kernel: Kernel, make_listener: Any
) -> None:
    deaf = make_listener(room=2, blocked_since=trio.current_time() - 60)
    await kernel.subscribe("a", deaf)
    for kind in ("one", "two", "three"):
        await kernel.ask("a", lambda player, kind=kind: player.feed.append(Said(kind)))
    assert (deaf.words, deaf.cuts) == ([], 1)
    assert [facts["error"] for facts in kernel.told("stream.cut")] == ["too slow"]


async def crash_often(kernel: Kernel, key: str, times: int) -> None:
    """So many crashes of one actor, each after it has come back."""
    for _ in range(times):
        with pytest.raises(Crashed):
            await kernel.ask(key, crash, deadline=trio.current_time() + 60)


async def unavailable(player: Player) -> None:
    raise Unavailable("restarting")


class Learner(Actor):
    """An actor that crashes on each fact."""


@turn(Learner, LearnFact)
def learn(actor: Learner, message: LearnFact) -> None:
    raise ValueError("can't be learnt")


async def test_the_log_and_the_dead_letter_name_the_fact_on_which_an_actor_crashed(
    kernel: Kernel, nursery: trio.Nursery
) -> None:
    pool = kernel.runtime.add("learner", Learner, lambda cell: Learner(cell, kernel.runtime))
    await nursery.start(pool.run, kernel.stopping)
    kernel.runtime.tell(Address("learner", "1"), LearnFact(MarkedStatus(1, 2, bookmarked=True)))
    await trio.sleep(1)
    assert kernel.told("message.parked")[0]["message"] == "LearnFact(MarkedStatus)"
    assert kernel.parked[0][1].kind == "LearnFact(MarkedStatus)"


async def test_crashes_quarantines_and_parked_messages_are_counted_for_metrics(kernel: Kernel) -> None:
    recovery = kernel.pool.recovery
    kernel.tell("a", crash)
    await trio.sleep(1)
    assert (recovery.crashes, recovery.parked, recovery.quarantines) == (2, 1, 0)
    for _ in range(6):
        with pytest.raises(NotAnswered):
            await kernel.ask("b", crash)
        await trio.sleep(3)
    assert (recovery.crashes, recovery.parked, recovery.quarantines) == (8, 1, 1)

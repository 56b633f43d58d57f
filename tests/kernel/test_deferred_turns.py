"""Messages that can wait: actors at rest without subscribers take them later, and many in a row."""

from __future__ import annotations

from collections.abc import Sequence

import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Address, Origin
from troupe.actors.kernel.mailbox_writer import MOST_DEFERRED, SPREAD
from troupe.actors.kernel.pool_context import PAUSE

from .acting import Action, Kernel, Listener, MakeKernel, Player, Said


def noting(what: object) -> Action:
    return lambda player: player.done.append(what)


async def test_what_was_deferred_is_done_before_the_next_answer(kernel: Kernel) -> None:
    player = await kernel.wake("a")
    for number in range(3):
        kernel.tell_later("a", action=noting(number))
    await wait_all_tasks_blocked()
    assert player.done == []
    assert await kernel.ask("a", lambda player: list(player.done)) == [0, 1, 2]
    assert kernel.player("a") is player


async def test_what_was_deferred_is_done_before_the_next_message(kernel: Kernel) -> None:
    player = await kernel.wake("a")
    kernel.tell_later("a", action=noting("first"))
    kernel.tell("a", noting("second"))
    kernel.tell_later("a", action=noting("third"))
    await wait_all_tasks_blocked()
    assert player.done == ["first", "second", "third"]


async def test_a_subscriber_is_not_shown_what_was_told_before_it_came(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell_later("a", action=lambda player: player.feed.append(Said("before")))
    listener = Listener()
    await kernel.subscribe("a", listener)
    kernel.tell_later("a", action=lambda player: player.feed.append(Said("after")))
    await wait_all_tasks_blocked()
    assert listener.words == ["after"], "with a subscriber nothing is put off"


async def test_nor_is_it_when_the_turns_that_were_deferred_are_about_to_begin(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell_later("a", action=lambda player: player.feed.append(Said("before")))
    kernel.tell("a", noting("begin"))
    listener = Listener()
    await kernel.subscribe("a", listener)
    kernel.tell("a", lambda player: player.feed.append(Said("after")))
    await wait_all_tasks_blocked()
    assert listener.words == ["after"]


async def test_what_is_deferred_is_what_the_message_keeps_for_it(kernel: Kernel) -> None:
    """A subscriber is shown all that a message brings; others need less, and many of them may keep many messages."""
    for key in ("listened to", "alone"):
        await kernel.wake(key)
    await kernel.subscribe("listened to", Listener())
    kernel.tell_later("listened to", "alone", action=noting("all"), if_deferred=noting("a part"))
    done = [await kernel.ask(key, lambda player: list(player.done)) for key in ("listened to", "alone")]
    assert done == [["all"], ["a part"]]


async def test_an_actor_that_is_to_read_its_rows_again_forgets_what_it_has_deferred(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell_later("a", action=noting("in the rows"))
    kernel.runtime.resync(Address("player", "a"))
    assert await kernel.ask("a", lambda player: list(player.done)) == []


async def test_many_are_done_although_nobody_asks_and_not_by_all_actors_at_once(kernel: Kernel) -> None:
    keys = [str(number) for number in range(SPREAD)]
    players = [await kernel.wake(key) for key in keys]
    ended: list[int] = []
    for number in range(MOST_DEFERRED):
        kernel.tell_later(*keys, action=noting(number))
        await wait_all_tasks_blocked()
        ended.append(sum(bool(player.done) for player in players))
    assert ended == [*[0] * (MOST_DEFERRED - SPREAD), *range(1, SPREAD + 1)]
    assert all(player.done == list(range(len(player.done))) for player in players)


async def test_actors_sleep_with_what_they_have_deferred_and_nobody_sees_it_wait(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(idle=10)
    await kernel.wake("a")
    kernel.tell_later("a", action=noting("in the rows"))
    await trio.sleep(5)
    assert kernel.snapshot("a").summary.depth == 0
    await trio.sleep(15)
    assert not kernel.pool.cells
    assert await kernel.ask("a", lambda player: list(player.done)) == []


async def test_what_was_deferred_does_not_count_as_late_when_its_turn_comes(kernel: Kernel) -> None:
    await kernel.wake("a")
    kernel.tell_later("a", action=noting("later"))
    await trio.sleep(5)
    kernel.tell("a", noting("now"))
    summary = kernel.snapshot("a").summary
    assert (summary.depth, summary.oldest) == (2, 0)


async def test_a_crash_ends_only_the_turn_that_was_deferred(kernel: Kernel) -> None:
    crashed: list[Player] = []

    def crash_once(player: Player) -> None:
        if not crashed:
            crashed.append(player)
            raise ValueError
        player.done.append("again")

    await kernel.wake("a")
    kernel.tell_later("a", action=noting("before"))
    kernel.tell_later("a", action=crash_once)
    kernel.tell_later("a", action=noting("after"))
    assert await kernel.ask("a", lambda player: list(player.done)) == ["again", "after"]
    assert len(kernel.told("actor.crashed")) == 1


async def test_turns_of_traced_requests_are_not_deferred(make_kernel: MakeKernel) -> None:
    kernel = await make_kernel(trace=lambda address, envelope, turn: (envelope, turn))
    player = await kernel.wake("a")
    kernel.tell_later("a", action=noting("traced"), origin=Origin(trace="00-1-1-01"))
    await wait_all_tasks_blocked()
    assert player.done == ["traced"]


async def test_in_simulation_the_scheduler_chooses_if_a_turn_is_deferred(make_kernel: MakeKernel) -> None:
    choices: list[int] = []

    def choose(names: Sequence[str]) -> int:
        if list(names) == [str(Address("player", "a")), PAUSE] and choices:
            return choices.pop()
        return 0

    kernel = await make_kernel(choose=choose)
    player = await kernel.wake("a")
    choices[:] = [1]
    kernel.tell_later("a", action=noting("later"))
    await wait_all_tasks_blocked()
    assert player.done == []
    kernel.tell_later("a", action=noting("at once"))
    await wait_all_tasks_blocked()
    assert player.done == ["later", "at once"]

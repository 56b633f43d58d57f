"""Addresses are always valid: the first message wakes an actor, idleness lets it sleep."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.kernel import Address
from troupe.storage.engine.database import Unavailable

from .acting import Kernel, Player, Said, nothing_at_once


async def test_the_first_message_wakes_an_actor_and_finds_it_loaded(kernel: Kernel) -> None:
    async def load(player: Player) -> None:
        await trio.sleep(1)
        player.done.append("loaded")

    kernel.script.load = load
    assert await kernel.ask("a", lambda player: list(player.done)) == ["loaded"]


async def test_mail_that_arrives_during_the_load_is_handled_after_it_in_order(kernel: Kernel) -> None:
    kernel.script.load = kernel.pause(1)
    for number in range(3):
        kernel.tell("a", lambda player, number=number: player.done.append(number))
        await trio.sleep(0.2)
    await trio.sleep(1)
    assert kernel.player("a").done == [0, 1, 2]
    assert kernel.script.loads == ["a"]


async def test_an_actor_is_loaded_once_however_many_ask_for_it(kernel: Kernel) -> None:
    kernel.script.load = kernel.pause(1)
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(kernel.ask, "a", nothing_at_once)
    assert kernel.script.loads == ["a"]


async def test_a_reload_wanted_during_the_load_has_the_rows_read_once_more(kernel: Kernel) -> None:
    """They may have been read already when what it is about was committed."""
    kernel.script.load = kernel.pause(1)
    kernel.tell("a", lambda player: None)
    await trio.sleep(0.5)
    kernel.runtime.resync(Address("player", "a"))
    await kernel.ask("a", lambda player: None)
    assert kernel.script.loads == ["a", "a"]


async def test_subscribing_wakes_an_actor(kernel: Kernel, make_listener: Any) -> None:
    kernel.script.subscribed = lambda player, subscriber: player.feed.append(Said("welcome"))
    listener = make_listener()
    await kernel.subscribe("a", listener)
    assert listener.words == ["welcome"]


# Loads that fail


async def test_a_load_that_fails_is_a_crash_and_is_tried_again_while_the_mail_waits(kernel: Kernel) -> None:
    async def load(player: Player) -> None:
        if len(kernel.script.loads) < 3:
            raise LookupError("no such row")

    kernel.script.load = load
    assert await kernel.ask("a", lambda player: "here") == "here"
    assert [facts["crashes_60s"] for facts in kernel.told("actor.crashed")] == [1, 2]
    assert kernel.told("actor.restored")[0]["depth"] == 1


async def test_an_actor_that_cannot_even_be_made_is_a_crash_of_its_own(kernel: Kernel) -> None:
    def make(player: Player) -> None:
        if player.address.key == "a":
            raise ValueError("not a number")

    kernel.script.make = make
    kernel.tell("a", lambda player: None)
    assert await kernel.ask("b", lambda player: "well") == "well"
    await wait_all_tasks_blocked()
    assert kernel.told("actor.crashed")[0]["actor"] == "player/a"


async def test_a_load_that_takes_too_long_is_given_up(kernel: Kernel) -> None:
    async def load(player: Player) -> None:
        if len(kernel.script.loads) == 1:
            await trio.sleep_forever()

    kernel.script.load = load
    kernel.tell("a", lambda player: player.done.append("handled"))
    await trio.sleep(29)
    assert not kernel.told("actor.crashed")
    await trio.sleep(2)
    assert kernel.player("a").done == ["handled"]


async def test_without_a_database_a_load_tells_the_askers_and_is_no_crash(kernel: Kernel) -> None:
    kernel.script.load = unavailable
    with pytest.raises(Unavailable):
        await kernel.ask("a", lambda player: None)
    assert not kernel.told("actor.crashed")
    kernel.script.load = kernel.pause(1)
    assert await kernel.ask("a", lambda player: "back") == "back"


async def test_without_a_database_a_timeline_with_listeners_waits_until_it_is_back(
    kernel: Kernel, make_listener: Any
) -> None:
    listener = make_listener()
    await kernel.subscribe("a", listener)

    async def load(player: Player) -> None:
        if len(kernel.script.loads) < 5:
            raise Unavailable("restarting")
        player.feed.append(Said("made up"))

    kernel.script.load = load
    kernel.tell("a", lambda player: 1 / 0)
    await trio.sleep(5)
    assert listener.words == ["made up"]
    assert len(kernel.told("actor.crashed")) == 1


@pytest.mark.parametrize("error", [Unavailable("away"), LookupError("no such row")], ids=["no database", "crash"])
async def test_what_a_failed_load_has_registered_elsewhere_is_taken_back(kernel: Kernel, error: Exception) -> None:
    """Else an index would keep a cell that the pool does not know, and wake it beside its successor."""
    register: set[object] = set()

    async def load(player: Player) -> None:
        register.add(player.cell)
        raise error

    kernel.script.load = load
    kernel.script.retired = lambda player: register.discard(player.cell)
    kernel.tell("a", lambda player: None)
    await wait_all_tasks_blocked()
    assert len(kernel.script.loads) >= 1
    assert register == set()


async def test_a_load_that_is_cut_off_takes_back_what_it_had_registered(kernel: Kernel) -> None:
    register: set[object] = set()

    async def load(player: Player) -> None:
        register.add(player.cell)
        await trio.sleep_forever()

    kernel.script.load = load
    kernel.script.retired = lambda player: register.discard(player.cell)
    async with trio.open_nursery() as nursery:
        stopping = trio.Event()
        kernel.stopping.set()
        await wait_all_tasks_blocked()
        await nursery.start(kernel.pool.run, stopping)
        kernel.tell("a", lambda player: None)
        await wait_all_tasks_blocked()
        assert register
        nursery.cancel_scope.cancel()
    assert register == set()


async def unavailable(player: Player) -> None:
    raise Unavailable("restarting")

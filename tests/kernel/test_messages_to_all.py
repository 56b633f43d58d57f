"""Messages to all awake actors of a kind: thousands get them in slices, and all in one order."""

from __future__ import annotations

import trio
from trio.testing import wait_all_tasks_blocked

from troupe.actors.broadcast.audience import Audience
from troupe.actors.broadcast.broadcast import Broadcast
from troupe.actors.broadcast.publications import Publications
from troupe.actors.kernel import NOWHERE, Address, Ids, SystemClock
from troupe.actors.kernel.inspection import SLICE

from ..waiting import turns_of_others
from .acting import Do, Kernel, Player


def broadcast_of(kernel: Kernel) -> Broadcast:
    publications = Publications(Ids(SystemClock(), 1))
    return Broadcast(kernel.runtime, Audience[int](), Audience[str](), Audience[int](), Audience[int](), publications)


async def wake(kernel: Kernel, number: int) -> list[Player]:
    players: list[Player] = []
    for key in range(number):
        await kernel.runtime.ask(Address("player", str(key)), Do(players.append))
    return players


async def test_other_tasks_run_while_thousands_of_actors_get_a_message(kernel: Kernel) -> None:
    players = await wake(kernel, 4 * SLICE)
    async with turns_of_others() as turns:
        await broadcast_of(kernel).to_all("player", Do(lambda player: player.done.append("told")), NOWHERE)
        assert turns.number >= 4
    await wait_all_tasks_blocked()
    assert all(player.done == ["told"] for player in players)


async def test_few_actors_get_a_message_at_once(kernel: Kernel) -> None:
    players = await wake(kernel, 3)
    told = broadcast_of(kernel).to_all("player", Do(lambda player: player.done.append("told")), NOWHERE)
    try:
        told.send(None)
    except StopIteration:
        await wait_all_tasks_blocked()
    assert all(player.done == ["told"] for player in players)


async def test_all_actors_get_two_messages_in_the_same_order(kernel: Kernel) -> None:
    """An announcement that is taken back must not reach any before the announcement."""
    players = await wake(kernel, 2 * SLICE)
    broadcast = broadcast_of(kernel)
    async with trio.open_nursery() as nursery:
        for word in ("shown", "gone", "shown again"):
            action = Do(lambda player, word=word: player.done.append(word))
            nursery.start_soon(broadcast.to_all, "player", action, NOWHERE)
    await wait_all_tasks_blocked()
    assert len({tuple(player.done) for player in players}) == 1

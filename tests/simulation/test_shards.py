"""Promises of a cluster: the owner of a shard looks for those of its turns, and the next owner publishes them first.

The node of these tests is made the owner of some shards only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
import trio

from troupe.actors.account import PerspectiveOf
from troupe.actors.broadcast.broadcast import Broadcast, account_address, list_address
from troupe.actors.cluster.others import Alone
from troupe.actors.commands.favourites import Favourite
from troupe.actors.commands.lists import ChangeList, CreateList
from troupe.actors.commands.reblogs import Reblog
from troupe.actors.effects import registry
from troupe.actors.effects.registry import Attempt
from troupe.actors.effects.reminders import MuteEnded, reminder
from troupe.actors.facts.accounts import ReloadedAccount
from troupe.actors.facts.fact import STORED
from troupe.actors.facts.lists import ChangedList
from troupe.actors.facts.statuses import PublishedStatus
from troupe.actors.kernel import Origin, Stopping, TimedOut
from troupe.actors.outbox.fact_relay import LOOK_FOR_ROOM, PUBLISHER_WAITS
from troupe.actors.outbox.outbox import Outbox
from troupe.actors.outbox.relay import LEASE
from troupe.actors.promises import Effect, Promise
from troupe.storage import outbox
from troupe.storage.engine.shards import SHARDS, shard_of
from troupe.storage.outbox import NewEffect
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage

ANOTHER_RELAY = 1


@dataclass
class Place:
    """The place of this node in the cluster."""

    owned: set[int] = field(default_factory=lambda: set(range(SHARDS)))
    taken: set[int] = field(default_factory=set[int])


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    place = Place()

    def owns(self: Alone, shard: int) -> bool:
        return shard in place.owned

    def took(self: Alone, shard: int) -> bool:
        return shard in place.taken

    monkeypatch.setattr(Alone, "owns", owns)
    monkeypatch.setattr(Alone, "took", took)
    return place


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the promises that relays have executed."""
    executed: list[int] = []

    async def note(context: object, effect: Effect, attempt: Attempt) -> None:
        executed.append(attempt.id)

    for kind in ("status", "list"):
        monkeypatch.setitem(registry.KINDS, kind, replace(registry.KINDS[kind], execute=note))
    return executed


async def of_two_shards(sim: Simulation) -> tuple[Person, Person]:
    first, *others = await sim.people(*(f"person{number}" for number in range(5)))
    return first, next(other for other in others if shard_of(other.id) != shard_of(first.id))


def left(sim: Simulation, *promises: Promise, claimed: bool = False) -> list[int]:
    """Store promises of turns that have died, or whose relay has been cut off from the database with its claims."""
    rows, now = sim.actors.outbox.effects_of(promises, Origin("test")), sim.run.clock.now()
    ids = [row.id for row in rows]
    sim.database.arrange(outbox.insert_many, rows, now)
    if claimed:
        sim.database.arrange(outbox.claim, ids, ANOTHER_RELAY, now, now + timedelta(seconds=LEASE))
    return ids


def status_of(sim: Simulation, author: Person) -> Promise:
    return PublishedStatus(sim.new_id(), author.id).promised_by(author.id)


def test_a_crash_is_published_also_if_another_node_has_taken_the_shard(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn may have committed facts that have no promise. The new owner does not know of them."""
    sent: list[object] = []

    def send(self: Alone, facts: Sequence[object], origin: Origin) -> None:
        sent.extend(facts)

    monkeypatch.setattr(Alone, "send", send)

    @simulation(seeds=1, world=stage)
    async def play(sim: Simulation) -> None:
        (ada,) = await sim.people("ada")
        await ada.insist(PerspectiveOf())
        place.owned.discard(shard_of(ada.id))
        sent.clear()
        sim.runtime.interventions.restart(account_address(ada.id))
        await ada.insist(PerspectiveOf())
        assert sent == [ReloadedAccount(ada.id)]
        place.owned.add(shard_of(ada.id))

    play()


def test_only_the_owner_of_a_shard_publishes_its_facts_and_the_next_owner_the_rest(
    place: Place, published: list[int]
) -> None:
    @simulation(seeds=3, world=stage)
    async def play(sim: Simulation) -> None:
        published.clear()
        ada, bob = await of_two_shards(sim)
        place.owned.discard(shard_of(bob.id))
        (adas, bobs) = left(sim, status_of(sim, ada), status_of(sim, bob))
        sim.actors.outbox.wake()
        await trio.sleep(5)
        assert published == [adas]
        place.owned.add(shard_of(bob.id))
        await trio.sleep(2)
        assert published == [adas, bobs]

    play()


def test_promises_of_facts_have_the_shard_of_the_turn_also_in_the_partition_of_another_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The turn's own relay deletes them, and no other relay finds them before."""
    rows: list[NewEffect] = []
    effects_of = Outbox.effects_of

    def note(outbox: Outbox, *promised: Any) -> list[NewEffect]:
        made = effects_of(outbox, *promised)
        rows.extend(row for row in made if row.kind in STORED)
        return made

    monkeypatch.setattr(Outbox, "effects_of", note)

    @simulation(seeds=2, world=stage)
    async def play(sim: Simulation) -> None:
        ada, bob = await of_two_shards(sim)
        status = await ada.publish()
        await bob.follow(ada)
        rows.clear()
        await bob.insist(Favourite(status))
        await bob.insist(Reblog(status, "public"))
        assert {row.shard for row in rows} == {shard_of(bob.id)}
        assert f"account/{ada.id}" in {row.key for row in rows}, "the notification"
        rows.clear()
        await ada.delete(status)
        assert {row.shard for row in rows} == {shard_of(ada.id)}
        assert f"account/{bob.id}" in {row.key for row in rows}, "the boost"
        mine = await bob.insist(CreateList("mine", "list", exclusive=False))
        rows.clear()
        await bob.insist(ChangeList(bob.id, "ours", "list", False), list_address(mine.id))
        assert {(row.key, row.shard) for row in rows} == {(f"list/{mine.id}", shard_of(bob.id))}
        await sim.calm()

    play()


def test_facts_of_the_former_owner_are_published_before_the_first_turn_of_the_next(
    place: Place, published: list[int]
) -> None:
    """Also if the former owner lives and has claimed them."""

    @simulation(seeds=3, world=stage)
    async def play(sim: Simulation) -> None:
        ada, bob = await of_two_shards(sim)
        mine = await ada.insist(CreateList("mine", "list", exclusive=False))
        await sim.stop()
        await sim.start()
        place.taken = {shard_of(ada.id)}
        published.clear()
        claimed = left(sim, status_of(sim, ada), status_of(sim, bob), claimed=True)
        of_list = Promise(ChangedList(mine.id, ada.id), str(list_address(mine.id)), account=ada.id)
        claimed += left(sim, of_list, claimed=True)
        await bob.publish()
        assert published == [], "of a shard that this node has had since its start"
        await ada.publish()
        assert published == claimed[:1]
        await ada.insist(ChangeList(ada.id, "ours", "list", False), list_address(mine.id))
        assert published == [claimed[0], claimed[2]]
        await trio.sleep(LEASE)
        await sim.calm()

    play()


def test_facts_that_were_left_to_the_relay_are_forgotten_when_another_node_takes_the_shard(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its relay publishes them. Otherwise each later post here would wait for them in vain."""
    crowded = True

    def is_crowded(*asked: object) -> bool:
        return crowded

    monkeypatch.setattr(Broadcast, "is_crowded", is_crowded)

    @simulation(seeds=3, world=stage)
    async def play(sim: Simulation) -> None:
        nonlocal crowded
        (ada,) = await sim.people("ada")

        async def seconds_of_a_post() -> float:
            began = trio.current_time()
            await ada.publish()
            return trio.current_time() - began

        place.owned, crowded = set(range(SHARDS)) - {shard_of(ada.id)}, True
        assert await seconds_of_a_post() >= PUBLISHER_WAITS
        crowded = False
        await trio.sleep(2)
        assert await seconds_of_a_post() < LOOK_FOR_ROOM
        place.owned = set(range(SHARDS))
        await sim.calm()

    play()


@simulation(seeds=3, world=stage)
async def test_a_reminder_is_sent_again_if_the_owner_of_the_account_does_not_answer(sim: Simulation) -> None:
    (ada,) = await sim.people("ada")
    asked: list[float] = []

    async def unanswered(*asking: Any, **more: Any) -> None:
        asked.append(trio.current_time())
        if len(asked) < 3:
            raise (TimedOut, Stopping)[len(asked) % 2]("another node")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(sim.runtime), "ask", unanswered)
        left(sim, reminder(ada.id, MuteEnded(7)))
        sim.actors.outbox.wake()
        await trio.sleep(15)
    assert [round(after - before) for before, after in pairwise(asked)] == [1, 5]
    assert sim.logged("outbox.retry") == 2
    assert sim.database.rows("SELECT FROM outbox") == []

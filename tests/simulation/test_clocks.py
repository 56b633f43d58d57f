"""Facts of another server process whose clock is ahead: what was written after them has higher ids, so it is news."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from troupe.actors.broadcast.broadcast import list_address
from troupe.actors.broadcast.viewers import Related
from troupe.actors.commands.lists import CreateList
from troupe.actors.facts.accounts import ChangedAccount
from troupe.actors.facts.fact import Fact
from troupe.actors.facts.lists import ChangedList
from troupe.actors.facts.notifications import AddedNotification
from troupe.actors.facts.relations import ChangedRelation
from troupe.actors.facts.statuses import EditedStatus, PublishedStatus
from troupe.actors.kernel import Clock, Ids, Origin
from troupe.actors.rules.visibility import Relation
from troupe.storage import follows, lists, relations
from troupe.storage.follows import FollowTerms
from troupe.storage.notifications import Notification
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import FeedStream, Person, Simulation, stage

from .scenarios import page


class Ahead:
    """The clock of another machine, a minute ahead of ours."""

    def __init__(self, ours: Clock) -> None:
        self._ours = ours

    def now(self) -> datetime:
        return self._ours.now() + timedelta(minutes=1)


async def apply(sim: Simulation, facts: Sequence[Fact]) -> None:
    """Apply what another process published."""
    sim.actors.actor_context.facts.cache(facts)
    await sim.actors.actor_context.facts.notify_actors(facts, Origin("of-another-process"))


async def follow_elsewhere(sim: Simulation, ids: Ids, follower: Person, author: Person) -> None:
    """Commit a follow as another process does, which then publishes it."""
    database = sim.database
    follow = FollowTerms(ids.next(), follower.id, author.id)
    database.arrange(follows.insert_follow, follow, sim.run.clock.now())
    order = (database.arrange(relations.stamp), ids.next())
    one = Related(author.id, follower.stored_relation(author), *order)
    other = Related(follower.id, author.stored_relation(follower), *order)
    await apply(sim, [ChangedRelation(follower.id, one), ChangedRelation(author.id, other)])


@simulation(seeds=10, world=stage)
async def test_a_status_written_after_a_follow_of_another_process_is_shown(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    stream = await bob.stream()
    await follow_elsewhere(sim, Ids(Ahead(sim.run.clock), node=1), bob, ada)
    status = await ada.publish()
    await sim.calm()
    assert stream.pushed == [status]


@simulation(seeds=10, world=stage)
async def test_a_status_written_after_another_process_added_its_author_to_a_list_is_shown(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    mine = await bob.insist(CreateList("mine", "list", exclusive=False))

    async def first_page() -> list[int]:
        return await page(sim, bob, mine.id) or []

    stream = await sim.open_stream(FeedStream(sim, "bob's list", list_address(mine.id), first_page))
    elsewhere = Ids(Ahead(sim.run.clock), node=1)
    sim.database.arrange(lists.add, mine.id, [ada.id], [elsewhere.next()], sim.run.clock.now())
    await apply(sim, [ChangedList(mine.id, bob.id, elsewhere.next())])
    status = await ada.publish()
    await sim.calm()
    assert stream.pushed == [status]


def notified(id: int, at: datetime) -> AddedNotification:
    return AddedNotification.of(Notification(id, 1, 2, "follow", None, at, ""))


@pytest.mark.parametrize("kind", range(6))
@simulation(seeds=1, world=stage)
async def test_ids_are_above_those_of_every_fact_that_carries_one(sim: Simulation, kind: int) -> None:
    ahead = Ids(Ahead(sim.run.clock), node=1).next()
    facts: list[Fact] = [
        PublishedStatus(ahead, 1), EditedStatus(1, ahead, (), ()), ChangedAccount(ahead), ChangedList(1, 2, ahead),
        ChangedRelation(1, Related(2, Relation(), 0, ahead)), notified(ahead, sim.run.clock.now()),
    ]  # fmt: skip
    sim.actors.actor_context.facts.cache([facts[kind]])
    assert sim.actors.actor_context.ids.next() > ahead

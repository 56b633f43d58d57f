"""The transaction of a turn: what it has said is done after its commit, and nothing of it otherwise."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from troupe.actors.account import AccountActor, AccountChange, PerspectiveOf
from troupe.actors.broadcast.broadcast import account_address, list_address
from troupe.actors.change import Change
from troupe.actors.cluster.others import Alone
from troupe.actors.commands.announcements import React
from troupe.actors.commands.blocked_domains import DomainTerms, ImposeDomainBlock
from troupe.actors.commands.blocks import Block
from troupe.actors.commands.domain_blocks import BlockDomain
from troupe.actors.commands.edits import EditStatus
from troupe.actors.commands.favourites import Favourite
from troupe.actors.commands.followed_tags import FollowTag
from troupe.actors.commands.follows import Follow
from troupe.actors.commands.lists import CreateList
from troupe.actors.commands.moderation import ModerateAccount
from troupe.actors.commands.notes import WriteNote
from troupe.actors.commands.reblogs import Reblog
from troupe.actors.commands.statuses import DeleteStatus, PublishStatus
from troupe.actors.effects.polls import poll_ends
from troupe.actors.entity import EntityActor
from troupe.actors.facts.announcements import CountedReaction
from troupe.actors.facts.conversations import ChangedConversation
from troupe.actors.facts.fact import Fact
from troupe.actors.facts.lists import ChangedList
from troupe.actors.facts.moderation import ModeratedAccount, ModeratedDomain
from troupe.actors.facts.notifications import AddedNotification
from troupe.actors.facts.relations import ChangedPairs
from troupe.actors.facts.statuses import ChangedStatus, EditedStatus, GoneStatus, PublishedStatus
from troupe.actors.kernel import Address, Message, Refused
from troupe.actors.outbox.outbox import Outbox
from troupe.actors.refusals import NOT_FOUND
from troupe.actors.staff.acts import COMMAND_LINE
from troupe.actors.timelines.list import ListPage
from troupe.storage import announcements, favourites
from troupe.storage.announcements import Announcement
from troupe.storage.engine.shards import shard_of
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.faults import Injected
from troupe.supervision.testing.stage import Person, Simulation, stage

FAVOURITES = "SELECT FROM favourites"
LATER = "SELECT FROM outbox WHERE due_at > created_at"  # a promise of a fact is gone as soon as the fact is published


@pytest.mark.parametrize("commits", [False, True])
@simulation(seeds=4, world=stage)
async def test_a_refusal_rolls_back_unless_it_is_committed(sim: Simulation, commits: bool) -> None:
    ada, bob = await sim.people("ada", "bob")
    id = await ada.publish("hi")
    await sim.calm()
    published: list[Fact] = []
    sim.actors.actor_context.facts.observe(ChangedStatus, published.append)

    async def refuse(change: AccountChange) -> Refused:
        await favourites.insert(change.db, change.ids.next(), change.account.id, id, change.now, None)
        change.publish(ChangedStatus(id))
        change.promise(poll_ends(id, change.account.id, change.now + timedelta(days=1)))
        return change.commit_refusal(NOT_FOUND) if commits else NOT_FOUND

    async def take(account: AccountActor, message: WriteNote) -> Refused:
        return await account.change(refuse)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(AccountActor.turns, WriteNote, take)
        with pytest.raises(Refused):
            await bob.ask(WriteNote(ada.id, ""))
    rows = [len(sim.database.rows(table)) for table in (FAVOURITES, LATER)]
    assert rows == ([1, 1] if commits else [0, 0])
    assert len(published) == commits


@simulation(seeds=10, faults=Budget(2, frozenset({Fault.CONFLICT})), world=stage)
async def test_a_transaction_that_is_tried_again_says_everything_once(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    id = await ada.publish("hi")
    stream = await ada.stream()
    await bob.insist(Favourite(id))
    await sim.calm()
    assert len(sim.database.rows(FAVOURITES)) == 1
    assert stream.cuts or len(stream.notified) == 1


def announced(sim: Simulation) -> int:
    """Make an announcement that is shown now."""
    id, now = sim.new_id(), sim.run.clock.now()
    made = Announcement(id, "x", "<p>x</p>", (), (), (), None, None, False, now, now)
    sim.database.arrange(announcements.insert, made)
    return id


# What ada does about her status, or bob about it, and what the relay publishes if the turn did not.
BY_BOB: list[tuple[Callable[[Simulation, Person, int], Message[object]], type[Fact]]] = [
    (lambda sim, ada, id: Favourite(id), ChangedStatus),
    (lambda sim, ada, id: Favourite(id), AddedNotification),
    (lambda sim, ada, id: Reblog(id), PublishedStatus),
    (lambda sim, ada, id: Follow(ada.id), ChangedPairs),
    (lambda sim, ada, id: Block(ada.id), ChangedPairs),
    (lambda sim, ada, id: BlockDomain("far.test"), ChangedPairs),
    (lambda sim, ada, id: FollowTag("tea", "tea"), ChangedPairs),
    (lambda sim, ada, id: CreateList("friends", "list", exclusive=False), ChangedList),
    (lambda sim, ada, id: React(announced(sim), "🎉"), CountedReaction),
    (lambda sim, ada, id: PublishStatus("@ada psst", visibility="direct"), ChangedConversation),
    (lambda sim, ada, id: ModerateAccount(COMMAND_LINE, "silence"), ModeratedAccount),
    (lambda sim, ada, id: ImposeDomainBlock(COMMAND_LINE, "far.test", DomainTerms("silence")), ModeratedDomain),
]
BY_ADA: list[tuple[Callable[[int], Message[object]], type[Fact]]] = [
    (lambda id: DeleteStatus(id), GoneStatus),
    (lambda id: EditStatus(id, "hello"), EditedStatus),
]


async def crash_before_publishing(sim: Simulation, person: Person, command: Message[object], kind: type[Fact]) -> int:
    """Have a turn crash between its commit and its facts. Return how many facts of a kind come after all."""
    published: list[Fact] = []
    sim.actors.actor_context.facts.observe(kind, published.append)

    async def crash(self: EntityActor, change: Change) -> None:
        raise Injected(str(self.address))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EntityActor, "_after_commit", crash)
        await person.attempt(command)
    await sim.calm()
    return len(published)


@pytest.mark.parametrize(("command", "kind"), BY_BOB, ids=[kind.__name__ for _, kind in BY_BOB])
@simulation(seeds=2, world=stage)
async def test_what_a_crashed_turn_has_not_published_is_published(
    sim: Simulation, command: Callable[[Simulation, Person, int], Message[object]], kind: type[Fact]
) -> None:
    ada, bob = await sim.people("ada", "bob")
    id = await ada.publish("hi")
    await sim.calm()
    assert await crash_before_publishing(sim, bob, command(sim, ada, id), kind)


@pytest.mark.parametrize(("command", "kind"), BY_ADA, ids=[kind.__name__ for _, kind in BY_ADA])
@simulation(seeds=2, world=stage)
async def test_a_crashed_turn_has_told_of_its_own_status(
    sim: Simulation, command: Callable[[int], Message[object]], kind: type[Fact]
) -> None:
    (ada,) = await sim.people("ada")
    id = await ada.publish("hi")
    await sim.calm()
    assert await crash_before_publishing(sim, ada, command(id), kind)


@pytest.mark.parametrize("owns", [True, False])
@simulation(seeds=1, world=stage)
async def test_only_the_owner_of_an_actor_publishes_what_its_last_turn_has_left(sim: Simulation, owns: bool) -> None:
    (ada,) = await sim.people("ada")
    mine = await ada.insist(CreateList("friends", "list", exclusive=False))
    first = ListPage(ada.id, Page(20))
    addresses = [account_address(ada.id), list_address(mine.id)]
    await ada.insist(first, addresses[1])
    published: list[Address] = []

    async def publish_pending(self: Outbox, address: Address) -> None:
        published.append(address)

    def owns_ada(self: Alone, shard: int) -> bool:
        return owns and shard == shard_of(ada.id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Outbox, "publish_pending", publish_pending)
        patch.setattr(Alone, "owns", owns_ada)
        for address in addresses:
            sim.runtime.interventions.restart(address)
        assert not (await ada.insist(PerspectiveOf())).following
        assert await ada.insist(first, addresses[1]) == []
    assert sorted(published) == (addresses if owns else [])

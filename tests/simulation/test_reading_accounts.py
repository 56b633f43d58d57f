"""What an account's actor remembers is right, too, when another process has committed for the account."""

from dataclasses import replace

from troupe.actors.account import PerspectiveOf, ViewerFlags
from troupe.actors.broadcast.broadcast import list_address
from troupe.actors.broadcast.events import StatusAppeared
from troupe.actors.commands.domain_blocks import BlockDomain
from troupe.actors.commands.lists import AddToList, CreateList
from troupe.actors.commands.reblogs import Reblog
from troupe.actors.facts.marks import ChangedConversationMutes, MarkedStatus
from troupe.actors.facts.moderation import ModeratedAccount
from troupe.actors.facts.relations import ChangedDomainBlocks
from troupe.actors.facts.statuses import DeletedStatus
from troupe.actors.kernel import Origin
from troupe.actors.timelines.list import ListPage
from troupe.storage import bookmarks, conversation_mutes, deletions, domain_blocks
from troupe.storage.status_flags import Flags
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage

from .foreign import Foreigner

ELSEWHERE = Origin("of-another-process")
CONVERSATION = "SELECT conversation_id FROM statuses WHERE id = $1"


async def flags(who: Person, status: int) -> Flags:
    return (await who.insist(ViewerFlags((status,)))).flags[status]


@simulation(seeds=10, world=stage)
async def test_a_bookmark_set_by_another_process_is_shown(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    status = await ada.publish()
    assert not (await flags(bob, status)).bookmarked
    sim.database.arrange(bookmarks.insert, sim.new_id(), bob.id, status, sim.run.clock.now())
    await sim.actors.facts.apply([MarkedStatus(bob.id, status, bookmarked=True)], ELSEWHERE)
    assert (await flags(bob, status)).bookmarked
    assert not (await flags(ada, status)).bookmarked


@simulation(seeds=10, world=stage)
async def test_a_conversation_muted_by_another_process_is_muted(sim: Simulation) -> None:
    (ada,) = await sim.people("ada")
    status = await ada.publish()
    assert not (await flags(ada, status)).muted
    conversation = sim.database.rows(CONVERSATION, status)[0]["conversation_id"]
    sim.database.arrange(conversation_mutes.insert, ada.id, conversation, sim.run.clock.now())
    await sim.actors.facts.apply([ChangedConversationMutes(ada.id)], ELSEWHERE)
    assert (await flags(ada, status)).muted


@simulation(seeds=10, world=stage)
async def test_a_boost_deleted_by_another_process_is_no_boost_any_more(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    status = await ada.publish()
    boost = await bob.insist(Reblog(status))
    assert (await flags(bob, status)).reblogged
    deleted = sim.database.arrange(deletions.soft_delete, boost, bob.id, sim.run.clock.now(), sim.new_id)
    assert deleted is not None
    await sim.actors.facts.apply([DeletedStatus(deleted)], ELSEWHERE)
    assert not (await flags(bob, status)).reblogged


@simulation(seeds=10, world=stage)
async def test_a_domain_blocked_by_another_process_is_blocked(sim: Simulation) -> None:
    (ada,) = await sim.people("ada")
    await ada.insist(PerspectiveOf())
    now = sim.run.clock.now()
    sim.database.arrange(domain_blocks.insert, sim.new_id(), ada.id, "elsewhere.test", now)
    await sim.actors.facts.apply([ChangedDomainBlocks(ada.id, frozenset({"elsewhere.test"}))], ELSEWHERE)
    assert (await ada.insist(PerspectiveOf())).domain_blocks == {"elsewhere.test"}


@simulation(seeds=10, world=stage)
async def test_a_list_in_memory_leaves_out_a_domain_that_is_blocked_meanwhile(sim: Simulation) -> None:
    (ada,) = await sim.people("ada")
    gail = Foreigner(sim, "gail", "far.test")
    ada.has_followed(gail)
    status = gail.has_published(sim, "hi")
    mine = await ada.insist(CreateList("mine", "list", exclusive=False))
    await ada.insist(AddToList(ada.id, (gail.id,)), list_address(mine.id))
    first = ListPage(ada.id, Page(20))
    assert await ada.insist(first, list_address(mine.id)) == [status]
    await ada.insist(BlockDomain("far.test"))
    await sim.calm()
    assert await ada.insist(first, list_address(mine.id)) == []


@simulation(seeds=10, world=stage)
async def test_an_event_is_withdrawn_when_no_cache_has_the_suspended_author(sim: Simulation) -> None:
    (ada,) = await sim.people("ada")
    shown = await sim.actors.statuses.show(await ada.publish())
    assert shown is not None
    event, withdrawals = StatusAppeared(shown), sim.actors.withdrawals
    assert withdrawals.check(event)[1] is event
    now = sim.run.clock.now()
    fact = ModeratedAccount(ada.id, barred=True, row=replace(shown.author, suspended_at=now))
    before = withdrawals.facts
    sim.actors.facts.cache([fact])
    sim.actors.accounts.drop(ada.id)
    assert withdrawals.facts > before
    assert withdrawals.check(event)[1] is None

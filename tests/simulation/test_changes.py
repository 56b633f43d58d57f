"""The transaction of a turn: what it has said is done after its commit, and nothing of it otherwise."""

import pytest

from troupe.actors.account import AccountActor, AccountChange
from troupe.actors.commands.favourites import Favourite
from troupe.actors.commands.notes import WriteNote
from troupe.actors.facts import ChangedStatus, Fact
from troupe.actors.kernel import Refused
from troupe.actors.refusals import NOT_FOUND
from troupe.storage import favourites
from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.stage import Simulation, stage

FAVOURITES = "SELECT FROM favourites"
PROMISED = "SELECT FROM outbox"


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
        return change.commit_refusal(NOT_FOUND) if commits else NOT_FOUND

    async def take(account: AccountActor, message: WriteNote) -> Refused:
        return await account.change(refuse)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(AccountActor.turns, WriteNote, take)
        with pytest.raises(Refused):
            await bob.ask(WriteNote(ada.id, ""))
    rows = [len(sim.run.database.rows(table)) for table in (FAVOURITES, PROMISED)]
    assert rows == ([1, 1] if commits else [0, 0])
    assert len(published) == commits


@simulation(seeds=10, faults=Budget(2, frozenset({Fault.CONFLICT})), world=stage)
async def test_a_transaction_that_is_tried_again_says_everything_once(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    id = await ada.publish("hi")
    stream = await ada.stream()
    await bob.insist(Favourite(id))
    await sim.calm()
    assert len(sim.run.database.rows(FAVOURITES)) == 1
    assert stream.cuts or len(stream.notified) == 1

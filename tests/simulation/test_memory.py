"""An account's memory mirrors its rows: a change that was not stored has changed nothing."""

from troupe.actors.account import PerspectiveOf, perspective_of
from troupe.actors.commands.relations import Block, Follow, Mute, Unblock, Unfollow, Unmute
from troupe.storage import relations
from troupe.supervision.testing import Budget, Fault, sweep
from troupe.supervision.testing.stage import Person, Simulation, stage

NOT_STORED = Budget(1, frozenset({Fault.LOST, Fault.DOUBT_UNDONE, Fault.CONFLICT}))
CHANGES = (Follow, Mute, Unmute, Block, Unblock, Follow, Unfollow)


async def change_ones_mind(sim: Simulation) -> None:
    """Bob does everything that he can do to ada, and asks once for each."""
    ada, bob = await sim.people("ada", "bob")
    for change in CHANGES:
        await bob.attempt(change(ada.id))
        assert await bob.insist(PerspectiveOf()) == stored_perspective(sim, bob), f"after {change.__name__}"
        await ada.publish()
        assert await bob.home() == bob.belongs_at_home(), f"at home after {change.__name__}"


def stored_perspective(sim: Simulation, person: Person) -> object:
    """The perspective as a restarted account would read it."""
    return perspective_of(person.id, sim.run.database.arrange(relations.relations, person.id))


@sweep(faults=NOT_STORED, world=stage)
async def test_a_change_that_was_not_stored_has_changed_nothing(sim: Simulation) -> None:
    await change_ones_mind(sim)

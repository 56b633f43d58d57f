"""Accounts that react to one announcement at the same time."""

from troupe.actors.commands.announcements import React, Unreact
from troupe.actors.kernel import Refused
from troupe.actors.rules.limits import REACTION_KINDS
from troupe.storage import announcements
from troupe.storage.announcements import Announcement
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage
from troupe.supervision.testing.stage.people import Person

FIRST, EIGHTH, NINTH = "👍", "🎉", "🐱"
TAKEN = "😀😁😂😃😄😅"  # six kinds
KINDS = "SELECT DISTINCT name FROM announcement_reactions WHERE announcement_id = $1"


def announce(sim: Simulation) -> int:
    """Make an announcement that is shown now."""
    id, now = sim.new_id(), sim.run.clock.now()
    made = Announcement(id, "x", "<p>x</p>", (), (), (), None, None, False, now, now)
    sim.database.arrange(announcements.insert, made)
    return id


# A limit that is not looked at is found within 19 runs.
@simulation(seeds=38, faults=3, world=stage)
async def test_accounts_that_react_at_once_never_make_more_kinds_than_allowed(sim: Simulation) -> None:
    ada, bob, eve = await sim.people("ada", "bob", "eve")
    id = announce(sim)
    for name in (*TAKEN, FIRST):
        await ada.insist(React(id, name))
    refusals: list[str] = []  # with their status

    async def react(person: Person, name: str) -> None:
        try:
            await person.insist(React(id, name))
        except Refused as refusal:
            refusals.append(f"{name} {refusal.status}")

    async with sim.together() as go:
        go(react, bob, EIGHTH, name="bob")
        go(react, eve, NINTH, name="eve")
        go(ada.attempt, Unreact(id, FIRST), name="ada")
    await sim.calm()

    kinds = {row["name"] for row in sim.database.rows(KINDS, id)}
    assert len(kinds) <= REACTION_KINDS
    assert refusals == [f"{name} 422" for name in (EIGHTH, NINTH) if name not in kinds]
    sim.sometimes(len(refusals) == 1, "one came too late")
    sim.sometimes(not refusals, "a place became free in time")

"""What is promised for later than the end of a scenario."""

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage


@simulation(seeds=3, world=stage)
async def test_a_promise_for_later_may_wait_at_the_end_of_a_scenario(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    await ada.mute(bob, seconds=7 * 24 * 3600)
    await sim.calm()
    assert sim.database.rows("SELECT FROM outbox")

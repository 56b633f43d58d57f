"""A deleted status is never shown again, wherever its news still were on their way."""

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage


# Deletions that are forgotten are found within 19 runs.
@simulation(seeds=38, faults=3, pinned=[(9, "random")], world=stage)
async def test_a_deletion_races_with_fan_out(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    streams = [await bob.stream(), await sim.public_stream()]

    async def regret() -> None:
        await ada.publish("one")
        await ada.delete(await ada.publish("two"))
        await ada.publish("three")

    async def look() -> None:
        for _ in range(3):
            deleted = set(ada.deleted)
            assert not deleted & set(await bob.home())
            assert not deleted & set(await sim.public_page())

    async with sim.together() as go:
        go(regret, name="ada")
        go(look, name="bob")
    assert await bob.home() == bob.belongs_at_home()
    assert not await bob.sees(ada.deleted[0])
    await sim.calm()

    for stream in streams:
        assert stream.cuts or set(stream.gone) >= set(stream.pushed) & set(ada.deleted)
        assert set(ada.published) - set(ada.deleted) <= set(stream.seen)
    assert await bob.home() == bob.belongs_at_home()

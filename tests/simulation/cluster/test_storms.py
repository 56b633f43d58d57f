"""Nodes that are killed, frozen, cut off, drained and joined while people write and read."""

from functools import partial

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster


async def write_and_read(sim: SimulatedCluster) -> None:
    """A follower sees each status once it is acknowledged, on every node, and nothing once a block is acknowledged."""
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    async with sim.run.together() as go:
        go(sim.storm)

        async def write() -> None:
            for _ in range(5):
                status = await ada.publish()
                assert status in await bob.home()

        go(write)
    await sim.calm()
    assert set(stream.seen) == set(ada.published)
    await bob.block(ada)
    assert not await bob.home()
    await sim.calm()


@simulation(seeds=4, faults=6, world=partial(cluster, nodes=3))
async def test_a_storm(sim: SimulatedCluster) -> None:
    await write_and_read(sim)

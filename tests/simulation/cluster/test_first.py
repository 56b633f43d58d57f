from functools import partial

import trio

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster


@simulation(seeds=20, faults=6, world=partial(cluster, nodes=3))
async def test_first(sim: SimulatedCluster) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()
    async with sim.run.together() as go:

        async def write() -> None:
            for _ in range(5):
                status = await ada.publish()
                assert status in await bob.home()

        go(write)

        async def die() -> None:
            await trio.sleep(sim.run.random.random() * 3)
            node = sim.pick()
            await node.kill()
            await trio.sleep(sim.run.random.random() * 6)
            await node.start()

        go(die)
    await sim.calm()
    assert set(stream.seen) == set(ada.published)
    await bob.block(ada)
    assert not await bob.home()
    await sim.calm()

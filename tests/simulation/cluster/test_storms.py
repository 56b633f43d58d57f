"""Nodes that are killed, frozen, cut off, drained and joined while people write and read."""

from contextlib import suppress
from functools import partial

import trio

from troupe.actors.broadcast.broadcast import account_address, home_address
from troupe.actors.cluster.membership import LEASE
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.kernel import NotAnswered
from troupe.actors.timelines.home import HomePage
from troupe.storage.statuses import Status
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import PAGE, insist
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


@simulation(seeds=5, world=partial(cluster, nodes=2))
async def test_a_node_that_was_removed_by_a_node_it_does_not_know_answers_nothing(sim: SimulatedCluster) -> None:
    """The node was alone before it was frozen, so that it waits for nobody's answers to its polls."""
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    first, frozen = sim.nodes
    await first.kill()
    await trio.sleep(2 * LEASE)
    await bob.home()
    sim.run.freeze(frozen.place.label)
    await first.start()
    page = HomePage(Page(PAGE))

    async def publish() -> None:
        command = PublishStatus("hello", idempotency_key="hello")
        status = await first.answer(lambda: first.runtime.ask(account_address(ada.id), command))
        assert isinstance(status, Status)
        ada.published.append(status.id)

    await insist(sim, "ada", publish)
    async with sim.run.together() as go:

        async def read() -> None:
            with suppress(NotAnswered):
                found = await frozen.answer(lambda: frozen.runtime.ask(home_address(bob.id), page))
                assert set(found) == set(ada.published)

        for _ in range(5):
            go(read)
        await sim.run.quiet()
        sim.run.thaw(frozen.place.label)
    await sim.calm()

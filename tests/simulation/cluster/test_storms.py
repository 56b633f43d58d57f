"""Nodes that are killed, frozen, cut off, drained and joined while people write and read."""

from contextlib import suppress
from functools import partial

import pytest
import trio

from troupe.actors.broadcast.broadcast import account_address, home_address
from troupe.actors.cluster.membership import LEASE
from troupe.actors.cluster.others import Incomplete
from troupe.actors.cluster.peers import Peer
from troupe.actors.commands.follows import Follow
from troupe.actors.commands.statuses import PublishStatus, UnexpectedMentions
from troupe.actors.kernel import NotAnswered
from troupe.actors.timelines.home import HomePage
from troupe.storage.engine.shards import shard_of
from troupe.storage.statuses import Status
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import PAGE, insist
from troupe.supervision.testing.stage.cluster import Blow, SimulatedCluster, cluster

from .leaving import leave_and_read


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


@simulation(seeds=3, faults=6, world=partial(cluster, nodes=3))
async def test_a_storm(sim: SimulatedCluster) -> None:
    await write_and_read(sim)


@simulation(seeds=1, faults=6, world=partial(cluster, nodes=3), time_is_a_choice=True)
async def test_a_storm_in_which_time_passes_while_tasks_could_run(sim: SimulatedCluster) -> None:
    await write_and_read(sim)


@simulation(seeds=1, faults=6, world=partial(cluster, nodes=5))
async def test_a_storm_over_five_nodes(sim: SimulatedCluster) -> None:
    await write_and_read(sim)


@simulation(seeds=1, faults=4, world=partial(cluster, nodes=3, overlapping=True))
async def test_a_storm_in_the_middle_of_transactions(sim: SimulatedCluster) -> None:
    await write_and_read(sim)


@simulation(seeds=1, faults=2, world=partial(cluster, nodes=2, overlapping=True))
async def test_accounts_of_two_nodes_follow_and_block_each_other_while_a_node_dies(sim: SimulatedCluster) -> None:
    """Nobody follows an account that a block separates from it."""
    ada, bob = await sim.people("ada", "bob")
    async with sim.run.together() as go:
        go(ada.attempt, Follow(bob.id))
        go(bob.attempt, Follow(ada.id))
        go(bob.block, ada)
        go(partial(sim.storm, Blow.RESTART, blows=1))
    await sim.calm()
    assert not sim.database.rows("SELECT FROM follows")


@simulation(seeds=2, world=partial(cluster, nodes=3))
async def test_a_node_whose_part_in_the_cluster_crashes_starts_again_without_its_memory(
    sim: SimulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    node = sim.run.random.choice(sim.nodes)
    process = node.cluster

    def crash(peer: Peer) -> None:
        raise LookupError("planned")

    async with sim.run.together() as go:

        async def write() -> None:
            for _ in range(5):
                status = await ada.publish()
                assert status in await bob.home()
                await trio.sleep(sim.run.random.random())

        go(write)
        await trio.sleep(sim.run.random.random())
        monkeypatch.setattr(process.bundles, "poll", crash)
    await sim.calm()
    assert node.cluster is not process
    assert not process.is_complete


@simulation(seeds=2, faults=3, world=partial(cluster, nodes=3))
async def test_after_a_node_has_left_in_order_the_others_read_nothing_again(sim: SimulatedCluster) -> None:
    await leave_and_read(sim)


@simulation(seeds=3, world=partial(cluster, nodes=3))
async def test_a_node_that_stops_leaves_no_command_without_an_answer(sim: SimulatedCluster) -> None:
    """Commands at other nodes are answered by the old owner or by the new owner, and the stop takes seconds at most."""
    (ada,) = await sim.people("ada")
    owner = next(node for node in sim.nodes if node.cluster.owns(shard_of(ada.id)))
    others = [node for node in sim.nodes if node is not owner]

    async def write() -> None:
        for number in range(8):
            node, command = sim.run.random.choice(others), PublishStatus("hello", idempotency_key=str(number))
            while True:
                try:
                    status = await node.answer(
                        lambda node=node, command=command: node.runtime.ask(account_address(ada.id), command),
                        changes=True,
                    )
                except Incomplete:  # for a moment, when the owner has left
                    await trio.sleep(0.1)
                else:
                    break
            assert not isinstance(status, UnexpectedMentions)
            await trio.sleep(0.3 * sim.run.random.random())

    async with sim.run.together() as go:
        go(write)
        began = trio.current_time()
        await owner.stop()
        assert trio.current_time() - began < LEASE
    await sim.calm()
    rows = sim.database.rows("SELECT count(*) AS statuses FROM statuses")
    assert rows[0]["statuses"] == 8


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
        status = await first.answer(lambda: first.runtime.ask(account_address(ada.id), command), changes=True)
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

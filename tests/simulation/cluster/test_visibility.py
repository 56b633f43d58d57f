"""What an act hides is hidden on every node that answers, from the acknowledgement of the act on."""

from __future__ import annotations

from functools import partial

import trio

from troupe.supervision.testing import Broken, simulation
from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode, cluster

from .hiding import ACTS, Hiding, delete

BACK_WITHIN = 10.0  # seconds; a removed node needs 3 s to notice that the others have ended
ACTS_OF_A_RUN = 4
LATEST = 4.0  # seconds until an act begins
ROUNDS = 3  # of reading


@simulation(seeds=5, faults=3, world=partial(cluster, nodes=3))
async def test_what_an_act_hides_is_hidden_on_every_node(sim: SimulatedCluster) -> None:
    await hide_and_read(sim)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=5))
async def test_what_an_act_hides_is_hidden_on_each_of_five_nodes(sim: SimulatedCluster) -> None:
    await hide_and_read(sim)


@simulation(seeds=3, world=partial(cluster, nodes=3))
async def test_every_node_answers_again_by_itself(sim: SimulatedCluster) -> None:
    """After a storm nobody has to do anything: the nodes answer all reads within seconds."""
    hiding = await delete(sim)
    await sim.storm()
    sim.bus.is_faulty = False
    with trio.fail_after(BACK_WITHIN):
        for node in sim.nodes:
            await node.start()
            for showing in hiding.showing:
                assert showing.shows(await showing.get.insist(sim, node))


async def hide_and_read(sim: SimulatedCluster) -> None:
    """Act amid trouble, and read on every node as soon as the act is acknowledged."""
    chosen = sim.run.random.sample(ACTS, ACTS_OF_A_RUN)
    hidings = [await make(sim) for make in chosen]
    for hiding in hidings:
        await _show(sim, hiding)
    async with sim.run.together() as go:
        go(sim.storm, name="storm")
        for hiding in hidings:
            go(_hide, sim, hiding, name=hiding.name)
    await sim.calm()
    for hiding in hidings:
        for node in sim.nodes:
            for showing in hiding.showing:
                reply = await showing.get.insist(sim, node)
                assert not showing.shows(reply), f"{node.name} shows {showing.get} after the {hiding.name}"


async def _show(sim: SimulatedCluster, hiding: Hiding) -> None:
    """Every node shows what will be hidden, so that it is in its memory."""
    for node in sim.nodes:
        for showing in hiding.showing:
            reply = await showing.get.insist(sim, node)
            assert showing.shows(reply), f"{node.name} does not show {showing.get} before the {hiding.name}"


async def _hide(sim: SimulatedCluster, hiding: Hiding) -> None:
    await trio.sleep(sim.run.random.random() * LATEST)
    await hiding.act()
    for _ in range(ROUNDS):
        async with sim.run.together() as go:
            for node in sim.nodes:
                go(_read, sim, hiding, node, name=f"reader at {node.name}")
        await trio.sleep(sim.run.random.random() / 2)


async def _read(sim: SimulatedCluster, hiding: Hiding, node: SimulatedNode) -> None:
    for showing in hiding.showing:
        reply = await showing.get.send(sim, node)
        if reply is not None and showing.shows(reply):
            raise Broken(f"{node.name} shows {showing.get} after the {hiding.name}")

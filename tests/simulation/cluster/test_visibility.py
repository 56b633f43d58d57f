"""What an act hides is hidden on every node that answers, from the acknowledgement of the act on."""

from __future__ import annotations

from functools import partial

import trio

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster

from .cut_ways import interact_after_an_act, mute_beside_a_stream
from .hiding import delete, hide_and_read
from .replacements import mute_while_a_node_is_replaced

BACK_WITHIN = 10.0  # seconds; a removed node needs 3 s to notice that the others have ended


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


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_no_owner_lets_a_person_interact_with_what_an_act_hides(sim: SimulatedCluster) -> None:
    await interact_after_an_act(sim)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_a_stream_at_a_node_that_has_not_heard_of_a_mute_pauses(sim: SimulatedCluster) -> None:
    await mute_beside_a_stream(sim)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_a_process_that_was_replaced_shows_nothing_that_an_act_hides(sim: SimulatedCluster) -> None:
    await mute_while_a_node_is_replaced(sim)

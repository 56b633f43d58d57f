"""Nodes that join, die, freeze and drain: who is in the cluster, and who owns the shards."""

from __future__ import annotations

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage.memberships import Memberships, memberships


@simulation(seeds=3, world=memberships)
async def test_the_shards_of_a_dead_node_are_taken(sim: Memberships) -> None:
    for name in "abc":
        await sim.start(name)
    sim.kill("a")
    await sim.settled()
    assert [node.is_leader for node in sim.nodes.values()] == [True, False]

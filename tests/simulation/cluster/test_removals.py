"""A node that wakes after it was removed commits nothing, also outside of shards."""

from __future__ import annotations

from functools import partial

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster

from .removals import revoke_tokens


@simulation(seeds=4, world=partial(cluster, nodes=3))
async def test_a_removed_node_changes_nothing_that_the_others_do_not_learn_of(sim: SimulatedCluster) -> None:
    await revoke_tokens(sim)

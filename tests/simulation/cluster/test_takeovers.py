"""An owner of an account that wakes after its shard was taken writes nothing."""

from __future__ import annotations

from functools import partial

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster

from .takeovers import change_ones_mind


@simulation(seeds=4, world=partial(cluster, nodes=3))
async def test_an_owner_that_wakes_overwrites_nothing(sim: SimulatedCluster) -> None:
    await change_ones_mind(sim)

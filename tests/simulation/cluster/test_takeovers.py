"""Takeovers: an owner that wakes late writes nothing, and the next owner publishes what it has left."""

from __future__ import annotations

from functools import partial

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster

from .cut_ways import post_after_a_faster_clock
from .slow_owners import post_and_read
from .takeovers import change_ones_mind


@simulation(seeds=4, world=partial(cluster, nodes=3))
async def test_an_owner_that_wakes_overwrites_nothing(sim: SimulatedCluster) -> None:
    await change_ones_mind(sim)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_a_post_is_published_when_the_next_owner_answers(sim: SimulatedCluster) -> None:
    await post_and_read(sim)


@simulation(seeds=1, faults=3, world=partial(cluster, nodes=3))
async def test_the_latest_post_has_the_highest_id_although_the_clocks_of_owners_differ(sim: SimulatedCluster) -> None:
    await post_after_a_faster_clock(sim)

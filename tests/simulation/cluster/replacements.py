"""A new process with the name of a node, while the former process still answers."""

from __future__ import annotations

from typing import Any

import trio

from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode

from .cut_ways import people_apart
from .hiding import HOME, lists_status
from .requests import Get, has_published, send

SOON = 0.8  # seconds, within which the former process has heard from all nodes
PATIENCE = 0.2  # seconds


async def mute_while_a_node_is_replaced(sim: SimulatedCluster) -> None:
    """Ada mutes bob. The former process neither hears of it nor of its end: PostgreSQL does not answer it either."""
    ada, bob, _ = await people_apart(sim)
    ada.has_followed(bob)
    status = has_published(sim, bob)
    owner, _, former = sim.nodes
    for node in sim.nodes:
        await Get(ada, HOME).insist(sim, node)
    _cut_from_postgres(former)
    sim.bus.leave(former.name)
    new = sim.join(former.name)
    sim.nursery.start_soon(new.start, name="start of the new process")
    await trio.sleep(sim.run.random.random() * SOON)
    muted = await send(sim, owner, ada, "POST", f"/api/v1/accounts/{bob.id}/mute")
    page = await send(sim, former, ada, "GET", HOME, patience=PATIENCE)
    if muted is not None and page is not None:
        assert not lists_status(status)(page), "the former process shows a muted account"
    await new.start()
    await new.stop()
    await former.kill()
    await sim.calm()


def _cut_from_postgres(node: SimulatedNode) -> None:
    database: Any = node.database

    async def never(name: str) -> None:
        await trio.sleep_forever()

    database._reach = never

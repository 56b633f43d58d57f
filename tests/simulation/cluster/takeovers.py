"""Takeovers: owners of an account freeze in front of a transaction, and wake after their shard was taken."""

from __future__ import annotations

from typing import Any

import trio

from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode

from .requests import give_tokens, insist

CHANGES = ("mute", "unmute") * 3
FREEZES = (4.0, 9.0)  # seconds. A node is removed after 3
PATIENCE = 2.0  # seconds
MUTED = "SELECT FROM mutes WHERE account_id = $1"


async def change_ones_mind(sim: SimulatedCluster) -> None:
    """Ada mutes bob and unmutes him again. Owners freeze in front of a transaction."""
    ada, bob = await sim.people("ada", "bob")
    give_tokens(sim, ada)
    frozen: list[SimulatedNode] = []
    for node in sim.nodes:
        freeze_before(sim, node, "mute", frozen)
    for change in CHANGES:
        await insist(sim, ada, "POST", f"/api/v1/accounts/{bob.id}/{change}", patience=PATIENCE)
        assert bool(sim.database.rows(MUTED, ada.id)) is (change == "mute"), "an acknowledged change is stored"
        await trio.sleep(sim.run.random.random() * 2)
        assert bool(sim.database.rows(MUTED, ada.id)) is (change == "mute"), "no older change follows"
    await sim.calm()
    assert not sim.database.rows(MUTED, ada.id), "the last acknowledged change is stored"


def freeze_before(sim: SimulatedCluster, node: SimulatedNode, change: str, frozen: list[SimulatedNode]) -> None:
    """Freeze the node in front of most transactions of a change, while no other node is frozen."""
    database: Any = node.database
    reach, label = database._reach, node.place.label

    async def reach_or_freeze(name: str) -> None:
        if name.endswith(change) and not frozen and sim.run.random.random() < 0.7:
            frozen.append(node)
            sim.run.freeze(label)
            sim.nursery.start_soon(_thaw_later, sim, node, frozen, name=f"end of the freeze of {node.name}")
        await reach(name)

    database._reach = reach_or_freeze


async def _thaw_later(sim: SimulatedCluster, node: SimulatedNode, frozen: list[SimulatedNode]) -> None:
    await trio.sleep(sim.run.random.uniform(*FREEZES))
    sim.run.thaw(node.place.label)
    frozen.remove(node)

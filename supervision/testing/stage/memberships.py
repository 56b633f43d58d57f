"""Nodes of a cluster without their servers: the membership of each, over one database.

@simulation(seeds=20, faults=3, world=memberships)
async def test_the_shards_of_a_dead_node_are_taken(sim: Memberships) -> None:
    for name in "abc":
        await sim.start(name)
    sim.kill("a")
    await sim.settled()
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from ....actors.cluster.membership import Membership
from ....storage.engine.database import Removed
from ....storage.engine.shards import SHARDS
from ..lockstep import LockstepDatabase
from ..run import Eventually, Run
from .postgres import sandbox

LONGEST_STORM = 60.0  # virtual seconds in which all nodes have settled after the last fault


@asynccontextmanager
async def memberships(run: Run) -> AsyncGenerator[Memberships]:
    """The world of a scenario about membership: an empty cluster."""
    run.postgres = sandbox
    async with trio.open_nursery() as nursery:
        yield Memberships(run, nursery)
        nursery.cancel_scope.cancel()


class Memberships:
    """The nodes of a run."""

    def __init__(self, run: Run, nursery: trio.Nursery) -> None:
        self.run = run
        self.nodes: dict[str, Membership] = {}  # the running nodes
        self.removed: list[str] = []  # nodes that the others have removed, and that have stopped
        self.database = run.database
        self._nursery = nursery
        self._lives: dict[str, trio.CancelScope] = {}

    async def start(self, name: str) -> Membership:
        """Start a process, and wait until it has taken its share of the shards. An earlier one is killed."""
        self.kill(name)
        return await self._nursery.start(self._live, name, name=f"{name} node")

    def kill(self, name: str) -> None:
        """End a process without a word to the others."""
        self.nodes.pop(name, None)
        if life := self._lives.pop(name, None):
            life.cancel("the node is killed")

    async def settled(self) -> None:
        """Wait until all running nodes know each other alone, and own all shards together."""
        await Eventually(self._is_settled, "all nodes have settled", within=LONGEST_STORM).wait_until_true()

    def _is_settled(self) -> bool:
        running = self.nodes.values()
        return all(
            {*node.members} == self.nodes.keys() - {name}
            and all(node.owner_of(shard) in self.nodes for shard in range(SHARDS))
            and all(node.own.owns(shard) == (node.owner_of(shard) == name) for shard in range(SHARDS))
            for name, node in self.nodes.items()
        ) and all(sum(node.own.owns(shard) for node in running) == 1 for shard in range(SHARDS))

    async def _live(self, name: str, task_status: trio.TaskStatus[Membership]) -> None:
        database = LockstepDatabase(sandbox(), self.run.faults, self.run.note, f"{name} ")
        node = Membership(database, name)
        with trio.CancelScope() as life:
            self._lives[name] = life
            await node.join()
            self.nodes[name] = node
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(node.run, trio.Event())
                    await node.take_share()
                    task_status.started(node)
            except* Removed:
                self.removed.append(name)
            if self.nodes.get(name) is node:
                del self.nodes[name]

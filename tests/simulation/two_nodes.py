"""Two nodes on one database that have no connection: a test hands the facts of one to the other, or does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import trio

from troupe.actors.cluster.others import Alone
from troupe.actors.kernel import IDLE, Origin
from troupe.supervision.testing import Run
from troupe.supervision.testing.stage import Simulation
from troupe.supervision.testing.stage.server import DOMAIN, ServerPlace, SimulatedServer


@dataclass(frozen=True)
class TwoNodes:
    """`sim` hears of nothing that `other` does."""

    sim: Simulation
    other: SimulatedServer


@asynccontextmanager
async def two_nodes(run: Run) -> AsyncGenerator[TwoNodes]:
    async with trio.open_nursery() as nursery:
        sim = Simulation(run, nursery, IDLE, loaders=True)
        place = ServerPlace(DOMAIN, run.database, "other ", 7)
        other = SimulatedServer(
            run, nursery, IDLE, mail=False, push=False, previews=False, deliveries=False, loaders=True, place=place
        )
        await sim.start()
        await other.start()
        yield TwoNodes(sim, other)
        await other.stop()
        await sim.stop()
        nursery.cancel_scope.cancel()


class Recorder(Alone):
    """Keeps what a node sends to the others."""

    def __init__(self) -> None:
        self.bundles: list[Sequence[Any]] = []  # of facts

    @classmethod
    def of(cls, node: SimulatedServer) -> Recorder:
        node.actors.facts.others = recorder = cls()
        return recorder

    def send(self, facts: Sequence[object], origin: Origin) -> None:
        self.bundles.append(facts)


class Link(Alone):
    """Hands what a node sends to another node, and waits until it is applied there."""

    def __init__(self, other: SimulatedServer) -> None:
        self._other = other

    @classmethod
    def between(cls, sender: SimulatedServer, receiver: SimulatedServer) -> None:
        sender.actors.facts.others = cls(receiver)

    def send(self, facts: Sequence[Any], origin: Origin) -> Awaitable[None]:
        return self._other.actors.facts.receive(facts, origin)

"""Two nodes on one database that have no connection: a test hands the facts of one to the other, or does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from troupe.actors.kernel import IDLE
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

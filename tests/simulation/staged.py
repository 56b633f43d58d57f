"""A cluster in place of a single server, for the scenarios that were written for a single server.

With TROUPE_SIM_NODES=3 they run on three nodes: each request goes to any of them, `kill` kills one, and what a scenario
reads of the server is what all nodes together have.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import trio

from troupe.actors.broadcast.broadcast import PUBLIC_LOCAL
from troupe.actors.kernel import IDLE
from troupe.actors.timelines.public import PublicPage
from troupe.storage.engine.json_values import JsonObject
from troupe.storage.upkeep.paging import Page
from troupe.supervision.testing.run import Predicate, Run
from troupe.supervision.testing.stage import PAGE, Person, Stream, insist
from troupe.supervision.testing.stage.cluster import Parts, SimulatedCluster, living


@asynccontextmanager
async def staged(
    run: Run, *, nodes: int, idle: float = IDLE, overlapping: bool = False, **parts: bool
) -> AsyncGenerator[StagedCluster]:
    """The world `stage` on several nodes."""
    assert not overlapping, "nodes have a lockstep database"
    async with trio.open_nursery() as nursery:
        async with living(StagedCluster(run, nursery, nodes, idle, Parts(**parts))) as sim:
            yield sim
        nursery.cancel_scope.cancel()


class Gated:
    """A part of any node, whose functions are requests to it."""

    def __init__(self, sim: StagedCluster, name: str) -> None:
        self._sim = sim
        self._name = name

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **named: Any) -> Any:
            node = self._sim.pick()
            return await node.answer(lambda: getattr(getattr(node.actors, self._name), name)(*args, **named))

        return call


class AnyActors:
    """The actors of the nodes."""

    def __init__(self, sim: StagedCluster) -> None:
        self._sim = sim
        self.statuses = Gated(sim, "statuses")
        self.accounts = Gated(sim, "accounts")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sim.pick().actors, name)

    @property
    def outbox(self) -> AnyOutbox:
        return AnyOutbox(self._sim)


class AnyOutbox:
    def __init__(self, sim: StagedCluster) -> None:
        self._sim = sim

    def wake(self, *args: Any) -> None:
        for node in self._sim.nodes:
            node.actors.outbox.wake(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sim.pick().actors.outbox, name)


class StagedCluster(SimulatedCluster):
    def __init__(self, run: Run, nursery: trio.Nursery, nodes: int, idle: float, parts: Parts) -> None:
        super().__init__(run, nursery, nodes, idle, parts)
        self.actors = AnyActors(self)
        self.base_url = self.nodes[0].base_url
        for name in ("mails", "pushed", "visits", "delivered", "gone", "answers", "titles"):
            for node in self.nodes[1:]:
                setattr(node, name, getattr(self.nodes[0], name))

    def __getattr__(self, name: str) -> Any:
        if name in ("mails", "pushed", "visits", "delivered", "gone", "answers", "titles"):
            return getattr(self.nodes[0], name)
        raise AttributeError(f"a cluster has no {name}")

    async def account(self, name: str, *, locked: bool = False) -> Person:
        return (await self.people(name, locked=locked))[0]

    async def public_page(self) -> list[int]:
        page = PublicPage(Page(PAGE))
        return await self.shown(await insist(self, "anybody", lambda: self.runtime.ask(PUBLIC_LOCAL, page)))

    async def public_stream(self) -> Stream:
        anybody = next(iter(self._people.values()))
        return await self.listen(anybody, "public:local", read=self.public_page)

    def always(self, predicate: Predicate, name: str | None = None) -> None:
        self.run.always(predicate, name)

    def eventually(self, predicate: Predicate, name: str | None = None) -> None:
        self.run.eventually(predicate, name)

    def sometimes(self, happened: bool, name: str) -> None:
        """Nothing is asked for: which seeds show something is another matter on a cluster."""

    def logged(self, event: str, **facts: object) -> int:
        return sum(node.logged(event, **facts) for node in self.nodes)

    @property
    def late(self) -> int:
        return sum(node.late for node in self.nodes)

    @property
    def failed_requests(self) -> int:
        return sum(node.failed_requests for node in self.nodes)

    async def receive(self, activity: JsonObject, recipient: str | None = None) -> None:
        await self.pick().receive(activity, recipient)

    async def kill(self) -> None:
        await self.pick().kill()

    async def stop(self) -> None:
        for node in self.nodes:
            if node.running.is_set():
                await node.stop()

    async def start(self) -> None:
        for node in self.nodes:
            if not node.running.is_set():
                await node.start()

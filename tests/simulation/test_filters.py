"""Filters that change amid fan-out: a stream shows each status by the filters in force, whatever fails meanwhile."""

from __future__ import annotations

from typing import Any

import orjson
import trio

from troupe.actors.kernel import NotAnswered
from troupe.storage.engine.database import StorageError
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage, token_of

TEA = "Tea"
FILTER = {
    "title": TEA,
    "context": ["home"],
    "filter_action": "hide",
    "keywords_attributes": [{"keyword": "tea", "whole_word": True}],
}


class Reader:
    """A client app with one stream, which hides statuses about tea now and then."""

    def __init__(self, sim: Simulation, person: Person) -> None:
        self.sim = sim
        self.token = token_of(person)
        self.hides: bool | None = False  # None while it is not known
        self.changes = 0
        self.shown: dict[int, int] = {}  # the changes that were known when a status about tea was shown

    async def change(self, *, hides: bool) -> None:
        self.hides, self.changes = None, self.changes + 1
        for one in await self.request("GET", "/api/v2/filters"):
            await self.request("DELETE", f"/api/v2/filters/{one['id']}")
        if hides:
            await self.request("POST", "/api/v2/filters", FILTER)
        self.hides = hides

    async def request(self, method: str, path: str, fields: dict[str, Any] | None = None) -> Any:
        """Send a request until it is answered."""
        while True:
            reply = await self.sim.api.send(method, path, self.token, fields)
            if reply.status in (200, 404):  # a deletion that was sent twice finds nothing
                return reply.json
            assert reply.status == 503, reply.json
            await trio.sleep(1)

    async def listen(self) -> None:
        """Read the stream of the home timeline; open it again when it is cut."""
        while True:
            try:
                session = await self.sim.api.stream("user", self.token)
            except (NotAnswered, StorageError):
                await trio.sleep(1)
                continue
            while frames := await session.take():
                for said in map(orjson.loads, frames):
                    if said["event"] == "update":
                        self._update(orjson.loads(said["payload"]))
            session.close()

    def _update(self, status: Any) -> None:
        assert self.hides is not True or status["filtered"] == [], "a status is shown that a filter hides"
        if "tea" in status["content"]:
            self.shown[int(status["id"])] = self.changes

    async def home(self) -> list[int]:
        return [int(status["id"]) for status in await self.request("GET", "/api/v1/timelines/home")]


@simulation(seeds=16, faults=3, world=stage)
async def test_a_stream_hides_by_the_filters_in_force(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    sim.sign_in([bob])
    reader = Reader(sim, bob)
    hidden: dict[int, int] = {}  # statuses that were written while a filter was in force, and at which change
    plain: list[int] = []

    async def post() -> None:
        for text in ("tea", "milk", "more tea", "tea again"):
            hides, changes = reader.hides, reader.changes
            id = await ada.publish(text)
            if "tea" not in text:
                plain.append(id)
            elif hides:
                hidden[id] = changes

    async def waver() -> None:
        for hides in (True, False, True):
            await reader.change(hides=hides)

    async with trio.open_nursery() as listening:
        listening.start_soon(reader.listen)
        async with sim.together() as go:
            go(post, name="ada")
            go(waver, name="bob")
        hidden[await ada.publish("the last tea")] = reader.changes
        await sim.calm()
        # What a filter hides comes while no filter is there, but never while the one is in force that was there first.
        assert not [id for id, changes in hidden.items() if reader.shown.get(id) == changes]
        assert set(await reader.home()) == set(plain)
        listening.cancel_scope.cancel()
    sim.sometimes(len(hidden) > 1, "a status about tea was posted while it was hidden")
    sim.sometimes(bool(reader.shown), "a status about tea was shown while nothing hid it")

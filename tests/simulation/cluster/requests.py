"""Requests of clients to the HTTP API of the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import trio

from troupe.actors.kernel import NotAnswered
from troupe.storage import statuses
from troupe.storage.statuses import NewStatus
from troupe.supervision.testing.stage import Dropped, Person, token_of
from troupe.supervision.testing.stage.api import SimulatedReply
from troupe.supervision.testing.stage.cluster import PATIENCE, SimulatedCluster, SimulatedNode
from troupe.supervision.testing.stage.people import sign_in

RETRY_AFTER = 1.0  # seconds

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Get:
    """A request that reads."""

    person: Person | None
    path: str
    fields: Fields | None = None

    async def send(self, sim: SimulatedCluster, node: SimulatedNode) -> SimulatedReply | None:
        return await send(sim, node, self.person, "GET", self.path, self.fields)

    async def insist(self, sim: SimulatedCluster, node: SimulatedNode) -> SimulatedReply:
        """Send the request to a node until it answers."""
        while (reply := await self.send(sim, node)) is None:
            await pause(sim)
        return reply

    def __str__(self) -> str:
        return f"{self.path} for {'a visitor' if self.person is None else self.person.name}"


async def send(
    sim: SimulatedCluster, node: SimulatedNode, person: Person | None, method: str, path: str,
    fields: Fields | None = None, key: str | None = None, patience: float = PATIENCE,
) -> SimulatedReply | None:  # fmt: skip
    """Send a request to a node. Return None if it does not answer within `patience` seconds, or answers 503."""
    token = None if person is None else token_of(person)
    headers = None if key is None else {"Idempotency-Key": key}
    with trio.move_on_after(patience):
        try:
            reply = await node.serve(lambda: node.api.send(method, path, token, fields, headers))
        except Dropped:
            reply = None
        if reply is not None and reply.status != 503:
            return reply
    sim.run.note(f"does not get {method} {path} from {node.name}", "a visitor" if person is None else person.name)
    return None


async def insist(
    sim: SimulatedCluster, person: Person, method: str, path: str, fields: Fields | None = None,
    key: str | None = None, patience: float = PATIENCE,
) -> SimulatedReply:  # fmt: skip
    """Send a request to one node after the other, until one answers."""
    while True:
        try:
            reply = await send(sim, sim.pick(), person, method, path, fields, key, patience)
        except NotAnswered:  # no node runs
            reply = None
        if reply is not None:
            sim.run.note(f"is answered {reply.status} by {method} {path}", person.name)
            return reply
        await pause(sim)


async def pause(sim: SimulatedCluster) -> None:
    """Wait as long as Retry-After says, or in half of the cases hardly at all."""
    await trio.sleep(RETRY_AFTER if sim.run.random.random() < 0.5 else 0.05)


def give_tokens(sim: SimulatedCluster, *people: Person) -> None:
    sim.database.arrange(sign_in, people, sim.new_id, sim.clock.now())


def has_published(sim: SimulatedCluster, person: Person, text: str = "hello", *, visibility: str = "public") -> int:
    """Store a status before the scenario begins. Return its id."""
    id = sim.new_id()
    uri = f"{sim.nodes[0].base_url}/users/{person.name}/statuses/{id}"
    content = f"<p>{text}</p>"
    sim.database.arrange(
        statuses.insert, NewStatus(id, person.id, uri, uri, visibility, text=text, content=content), sim.clock.now()
    )
    return id

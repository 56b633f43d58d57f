"""The ids of events, after nodes have left the cluster and come back."""

from __future__ import annotations

import trio

from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.cluster import Blow, SimulatedCluster

AUTHORS = ("ada", "cyd", "dan")
ROUNDS = 3  # of posts by each author
LOGGED = 0.7  # seconds in which a post is in the log, and all nodes know it
# Events that an id may name: the latest, the one before it, and one for each fault. If a turn has failed, the event of
# its facts stays in ids for a minute.
MOST = 2 + 3


async def ids_become_short(sim: SimulatedCluster) -> None:
    """An app sends an id back to resume. It grows only by events that are not in the log yet."""
    eve, *authors = await sim.people("eve", *AUTHORS)
    for author in authors:
        eve.has_followed(author)
    async with sim.run.together() as go:
        for author in authors:
            go(_post, author, 4, 0.7, name=author.name)
        go(sim.storm, Blow.RESTART, Blow.DRAIN, name="storm")
    await sim.calm()
    clients = [await sim.listen(eve) for _ in range(3)]
    for author in authors:
        await _post(author, ROUNDS, LOGGED)
    for client in clients:
        _, *keys = client.since.split(".")
        assert len(keys) <= MOST, f"{client.name} has {client.since}, which names events that are in the log"


async def _post(author: Person, times: int, pause: float) -> None:
    for _ in range(times):
        await author.publish()
        await trio.sleep(pause)

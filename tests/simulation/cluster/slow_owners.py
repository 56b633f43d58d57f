"""Owners that stop while a turn of theirs has committed and not published yet: it waits for crowded timelines."""

from __future__ import annotations

from contextlib import suppress

import trio

from troupe.actors.kernel import Address, NotAnswered
from troupe.storage.engine.shards import shard_of
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.cluster import SimulatedCluster, SimulatedNode

from .hiding import HOME, lists_status
from .requests import Get, insist, send

POSTS = 4
PATIENCE = 0.2  # seconds until an app repeats a post, which is shorter than the wait of the turn
AGAIN = 0.05  # seconds
BEFORE = 0.3  # seconds between the stop of an owner and a post, at most
SLOW = (0.0, 1.0)  # seconds between a COMMIT and its publication: as long as turns wait for crowded timelines
CREDENTIALS = "/api/v1/accounts/verify_credentials"


async def post_and_read(sim: SimulatedCluster) -> None:
    """Ada's app repeats each post until it is answered. Then it is on bob's home on every node, in her order."""
    ada, bob = await sim.people("ada", "bob")
    sim.sign_in([ada, bob])
    bob.has_followed(ada)
    stream = await bob.stream()
    for node in sim.nodes:
        _slow_down(sim, node)
        if sim.run.random.random() < 0.5:  # so that ada is awake at the next owner
            await Get(ada, CREDENTIALS).insist(sim, node)
    posts: list[int] = []
    for number in range(POSTS):
        for node in sim.nodes:
            if node.running.is_set() and node.cluster.owns(shard_of(ada.id)):
                sim.nursery.start_soon(_restart, sim, node, name=f"restart of {node.name}")
        await trio.sleep(sim.run.random.random() * BEFORE)
        posts.append(await _post(sim, ada, number))
        page = await insist(sim, bob, "GET", HOME)
        assert lists_status(posts[-1])(page), f"post {number} is answered, and not on bob's home"
    await sim.calm()
    assert sorted(stream.pushed) == posts, "the stream shows each post once"


async def _post(sim: SimulatedCluster, person: Person, number: int) -> int:
    """Send a post to one node after the other, until one answers. Return its id."""
    fields, key = {"status": f"number {number}"}, f"key {number}"
    while True:
        with suppress(NotAnswered):  # no node runs
            reply = await send(sim, sim.pick(), person, "POST", "/api/v1/statuses", fields, key, PATIENCE)
            if reply is not None:
                return int(reply.json["id"])
        await trio.sleep(AGAIN)


def _slow_down(sim: SimulatedCluster, node: SimulatedNode) -> None:
    outbox = node.actors.outbox
    wait = outbox.wait_for_relay

    async def wait_longer(author: Address) -> None:
        await trio.sleep(sim.run.random.choice(SLOW))
        await wait(author)

    outbox.wait_for_relay = wait_longer


async def _restart(sim: SimulatedCluster, node: SimulatedNode) -> None:
    await node.stop()
    await node.start()
    _slow_down(sim, node)

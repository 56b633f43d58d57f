"""Nodes that some or all datagrams do not reach, and what people notice of it."""

from __future__ import annotations

import trio

from troupe.actors.broadcast.broadcast import account_address
from troupe.actors.commands.moderation import ModerateAccount
from troupe.actors.staff.acts import COMMAND_LINE
from troupe.storage.engine.shards import shard_of
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.cluster import SimulatedCluster
from troupe.supervision.testing.stage.patience import insist as insist_at_actor

from .hiding import HOME
from .requests import Fields, Get, has_published, insist, send

CROWD = 24  # accounts: each node owns some of them
POSTS = 10
BETWEEN = (0.2, 0.5)  # seconds between two posts
CUT_FOR = 4.0  # seconds
AGAIN = 0.2  # seconds
COMPLETE_FOR = 0.5  # seconds after a cut in which a node still takes requests
FAST = 1  # the place of the node whose clock is a minute ahead

FAVOURITES = "SELECT FROM favourites"
OWNERS = "SELECT node FROM shards ORDER BY shard"


async def people_apart(sim: SimulatedCluster) -> list[Person]:
    """Return a person of each node, which owns the account."""
    crowd = await sim.people(*(f"person{number}" for number in range(CROWD)))
    sim.sign_in(crowd)
    owners: list[str] = []
    while len({*owners}) < len(sim.nodes):  # a share is late if a transaction had to be tried again
        await trio.sleep(AGAIN)
        owners = [row["node"] for row in sim.database.rows(OWNERS)]
    return [next(person for person in crowd if owners[shard_of(person.id)] == node.name) for node in sim.nodes]


async def interact_after_an_act(sim: SimulatedCluster) -> None:
    """Bob may not see ada's status any more, and his owner does not know: it favourites the status on no node."""
    ada, bob, _ = await people_apart(sim)
    bob.has_followed(ada)
    status = has_published(sim, ada, visibility="private")
    for node in sim.nodes:
        await Get(bob, f"/api/v1/statuses/{status}").insist(sim, node)
    _cut(sim)
    if sim.run.random.random() < 0.5:
        await insist(sim, ada, "POST", f"/api/v1/accounts/{bob.id}/remove_from_followers")
    else:
        await suspend(sim, ada)
    async with sim.run.together() as go:
        for node in sim.nodes:
            go(send, sim, node, bob, "POST", f"/api/v1/statuses/{status}/favourite", name=f"bob at {node.name}")
    await sim.calm()
    assert not sim.database.rows(FAVOURITES), "a status is favourited by a person who may not see it"


def _cut(sim: SimulatedCluster) -> None:
    """Cut the way from the first node to the second for a while."""
    sim.bus.cut(sim.nodes[0].name, sim.nodes[1].name)
    sim.nursery.start_soon(_heal_later, sim, name="end of the cut")


async def _heal_later(sim: SimulatedCluster) -> None:
    await trio.sleep(CUT_FOR)
    sim.bus.heal()


async def suspend(sim: SimulatedCluster, person: Person) -> None:
    message = ModerateAccount(COMMAND_LINE, "suspend")
    await insist_at_actor(sim, "staff", lambda: sim.runtime.ask(account_address(person.id), message))


async def mute_beside_a_stream(sim: SimulatedCluster) -> None:
    """Bob mutes ada. The node of his stream does not hear of it, but still hears of her posts, and shows none."""
    bob, _, ada = await people_apart(sim)
    bob.has_followed(ada)
    client = await sim.listen(bob)
    while client.nodes[-1] != sim.nodes[1].name or not client.open:
        client.hop()
        await trio.sleep(AGAIN)

    async def post() -> None:
        for number in range(POSTS):
            await insist(sim, ada, *_post(number))
            await trio.sleep(sim.run.random.uniform(*BETWEEN))

    shown: list[int] = []
    await insist(sim, ada, *_post(POSTS))
    _cut(sim)

    async def mute() -> None:
        await insist(sim, bob, "POST", f"/api/v1/accounts/{ada.id}/mute")
        shown.append(len(client.events))

    async with sim.run.together() as go:
        go(post)
        go(mute)
    await sim.calm()
    assert not [kind for kind, _ in client.events[shown[0] :] if kind == "update"], "a muted account is shown"
    sim.run.sometimes(bool(client.pushed), "a post was shown before the act")


async def post_after_a_faster_clock(sim: SimulatedCluster) -> None:
    """Ada's owner dies after a post that no other node has heard of. Its clock was ahead. Her next post is newer."""
    bob, ada, _ = await people_apart(sim)
    bob.has_followed(ada)
    fast = sim.nodes[FAST]
    sim.bus.cut_off(fast.name)
    await trio.sleep(COMPLETE_FOR)
    await send(sim, fast, ada, *_post(0))
    await trio.sleep(sim.run.random.random() * 3)
    await fast.kill()
    latest = (await insist(sim, ada, *_post(1))).json["id"]
    page = await insist(sim, bob, "GET", HOME)
    assert page.json[0]["id"] == latest, "the home shows the latest post first"
    sim.bus.heal()
    await fast.start()
    await sim.calm()


def _post(number: int) -> tuple[str, str, Fields, str]:
    """Return a request with a key."""
    return "POST", "/api/v1/statuses", {"status": "hello"}, f"key {number}"

"""Activities reach other servers: each once in its effect, in the order of its author, also after crashes."""

from __future__ import annotations

from functools import partial
from typing import Any

from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Simulation, stage

from .foreign import Foreigner, all_delivered

with_servers = partial(stage, deliveries=True)


def kinds(sim: Simulation, inbox: str | None = None) -> list[str]:
    """The types of the activities that were taken, each once, in the order in which they first came."""
    taken = {one.activity["id"]: one.activity["type"] for one in sim.delivered if inbox in (None, one.inbox)}
    return list(taken.values())


def objects(sim: Simulation, kind: str, inbox: str) -> list[Any]:
    """The objects of the activities of a type that an inbox has got, each once."""
    taken = {one.activity["id"]: one.activity for one in sim.delivered if one.inbox == inbox}
    return [activity["object"] for activity in taken.values() if activity["type"] == kind]


@simulation(seeds=20, faults=2, world=with_servers)
async def test_a_post_reaches_the_servers_of_its_authors_followers_once_each(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob, cat = Foreigner(sim, "bob", "b.example"), Foreigner(sim, "cat", "b.example")
    dan = Foreigner(sim, "dan", "d.example", shared=False)
    for follower in (bob, cat, dan):
        follower.follows(sim, ada)
    async with sim.together() as go:
        go(ada.publish, "hello", name="ada")
    await all_delivered(sim)
    (status,) = ada.published
    for inbox in (bob.inbox, dan.inbox):
        assert [one["id"] for one in objects(sim, "Create", inbox)] == [
            f"https://troupe.test/users/ada/statuses/{status}"
        ]
    assert {one.inbox for one in sim.delivered} == {bob.inbox, dan.inbox}
    assert len({one.body for one in sim.delivered}) == 1, "the body is the same at each try"
    assert all("signature" in {name.lower() for name in one.headers} for one in sim.delivered)
    sim.sometimes(len(sim.delivered) > 2, "one came twice")


@simulation(seeds=10, faults=0, world=with_servers)
async def test_a_follow_goes_out_and_its_undo_has_the_same_follow(sim: Simulation) -> None:
    ada = await sim.account("ada")
    bob = Foreigner(sim, "bob", "b.example")
    await ada.follow(bob)
    await ada.unfollow(bob)
    await all_delivered(sim)
    assert kinds(sim) == ["Follow", "Undo"]
    follow, undo = (one.activity for one in sim.delivered)
    assert follow["object"] == bob.uri
    assert undo["object"]["id"] == follow["id"]


@simulation(seeds=5, faults=0, world=with_servers)
async def test_what_concerns_nobody_elsewhere_stays_here(sim: Simulation) -> None:
    ada, eve = await sim.people("ada", "eve")
    eve.has_followed(ada)
    Foreigner(sim, "bob", "b.example")
    await ada.publish("hello @eve")
    await ada.follow(eve)
    await ada.block(eve)
    await all_delivered(sim)
    assert not sim.delivered

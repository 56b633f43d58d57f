"""Claims of effects on several nodes, whose clocks differ by up to two minutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

import trio

from troupe.actors.activitypub.keys import private_pem, public_pem
from troupe.actors.deliveries.sender import DeliveryReply
from troupe.storage.federation import signing_keys
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.api import a_key
from troupe.supervision.testing.stage.cluster import SimulatedCluster, cluster
from troupe.supervision.testing.stage.server import DOMAIN

from ..foreign import Foreigner

with_deliveries = partial(cluster, nodes=3, deliveries=True)

ELSEWHERE = "elsewhere.example"
SLOWEST = 3.0  # seconds of another server, which is as long as a node lives without a beat
LONGEST = 70.0  # seconds of a try, in the place of an hour: longer than a claim of a server that is alone


async def deliver_slowly(sim: SimulatedCluster) -> None:
    """Another server takes its time. Each post arrives once, because each claim is of a node that lives."""
    ada = await _followed(sim)

    async def answer(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.sleep(SLOWEST * sim.run.random.random())
        return DeliveryReply(202)

    sim.answers[ELSEWHERE] = answer
    posts = [await ada.publish() for _ in range(3)]
    await Eventually(lambda: not waiting(sim), "all posts are delivered", within=60).wait_until_true()
    assert len({taken.activity["id"] for taken in sim.delivered}) == len(posts)
    assert max(Counter(taken.activity["id"] for taken in sim.delivered).values()) == 1


async def _followed(sim: SimulatedCluster) -> Person:
    """Return a person with a follower on the other server, and with a key: making it would change a row meanwhile."""
    (ada,) = await sim.people("ada")
    Foreigner(sim, "eve", ELSEWHERE).follows(sim, ada)
    key = await a_key(DOMAIN)
    sim.database.arrange(signing_keys.insert, ada.id, private_pem(key), public_pem(key))
    return ada


def waiting(sim: SimulatedCluster) -> list[object]:
    """Return the deliveries that are not made yet."""
    return sim.database.rows("SELECT id FROM outbox WHERE queue = 'deliveries'")


async def hang(sim: SimulatedCluster) -> None:
    """Another server never answers a request. Its node lives, so no other node tries, until the try is over."""
    ada = await _followed(sim)
    tried: list[float] = []

    async def answer(headers: Mapping[str, str]) -> DeliveryReply:
        tried.append(trio.current_time())
        if len(tried) == 1:
            await trio.sleep_forever()
        return DeliveryReply(202)

    sim.answers[ELSEWHERE] = answer
    await ada.publish()
    await Eventually(lambda: bool(sim.delivered), "the post is delivered", within=2 * LONGEST).wait_until_true()
    first, second = tried
    assert second - first >= LONGEST, "no clock ends the claim of a node that lives"
    await sim.calm()
    assert len(tried) == 2

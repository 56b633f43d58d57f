"""A server that was set up again has other actors under the same handles: people here ask them again."""

from __future__ import annotations

from typing import Any

import pytest

from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext

from ..clients import Person, Stage
from ..waiting import until_found
from .delivering import act, create, follow, note, take
from .finding import followed, until_done
from .peer import ForeignServer

FOLLOWS = "SELECT body::jsonb->>'actor' FROM activities WHERE body::jsonb->>'object' = $1 ORDER BY 1"
STANDINGS = """
    SELECT a.username, 'follows' FROM follows f JOIN accounts a ON a.id = f.account_id
    UNION ALL SELECT a.username, 'asks' FROM follow_requests r JOIN accounts a ON a.id = r.account_id ORDER BY 1
"""


@pytest.fixture
async def keeping(stage: Stage) -> Stage:
    stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    return stage


async def reinstalled(keeping: Stage, peer: ForeignServer) -> dict[str, Any]:
    """Have the handle of eve name another actor, which is seen by its first activity."""
    uri = peer.url("/people/2")
    changes = {"id": uri, "inbox": f"{uri}/inbox", "followers": f"{uri}/followers"}
    key = {"id": f"{uri}#main-key", "owner": uri}
    eve = peer.person("eve")
    eve = peer.person("eve", publicKey=eve["publicKey"] | key, **changes)
    peer.serve(uri, eve)
    peer.handle("eve", None, uri)
    await take(keeping, follow(eve, "nobody"))
    await until_done(keeping)
    return eve


async def test_followers_and_those_who_ask_do_so_again(
    keeping: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    old = peer.person("eve")
    id = await followed(ada, peer)
    asked = {"type": "Follow", "actor": ada.account.uri, "object": old["id"]}
    await take(keeping, act(old, "Accept", asked))
    made = (await ada.post("/api/v1/lists", json={"title": "friends"})).json
    assert (await ada.post(f"/api/v1/lists/{made['id']}/accounts", json={"account_ids": [id]})).status == 200
    await followed(bob, peer)
    assert await keeping.rows(STANDINGS) == [["ada", "follows"], ["bob", "asks"]]
    await keeping.sql("UPDATE follow_requests SET created_at = created_at - interval '1 hour'")

    eve = await reinstalled(keeping, peer)
    asking = await until_found(lambda: asked_by(keeping, eve, 2))
    assert asking == [[ada.account.uri], [bob.account.uri]]
    assert await keeping.rows(STANDINGS) == [["ada", "asks"], ["bob", "asks"]]
    assert [one["id"] for one in (await ada.get(f"/api/v1/lists/{made['id']}/accounts")).json] == [id]
    counts = (await ada.get(f"/api/v1/accounts/{ada.id}")).json
    assert counts["following_count"] == 0

    secret = create(eve, note(eve, to=[eve["followers"]], cc=None))
    await take(keeping, secret)
    assert (await ada.get("/api/v1/timelines/home")).json == [], "nothing is shown that was not accepted"
    asked = {"type": "Follow", "actor": ada.account.uri, "object": eve["id"]}
    await take(keeping, act(eve, "Accept", asked))
    assert await keeping.rows(STANDINGS) == [["ada", "follows"], ["bob", "asks"]]


async def test_a_server_that_changes_its_actors_again_and_again_is_not_asked_each_time(
    keeping: Stage, ada: Person, peer: ForeignServer
) -> None:
    old = peer.person("eve")
    await followed(ada, peer)
    await take(keeping, act(old, "Accept", {"type": "Follow", "actor": ada.account.uri, "object": old["id"]}))
    eve = await reinstalled(keeping, peer)
    await until_found(lambda: asked_by(keeping, eve, 1))
    for number in range(3):
        old = peer.person("eve")
        await take(keeping, follow(old, "nobody", 10 + number))
        await reinstalled_again(keeping, peer, eve, number)
    assert await keeping.rows("SELECT FROM outbox WHERE kind = 'refollow'") == []
    assert len(await keeping.rows(FOLLOWS, eve["id"])) == 1
    assert len(await keeping.rows(FOLLOWS, old["id"])) == 1, "the one that was asked at first"


async def reinstalled_again(keeping: Stage, peer: ForeignServer, eve: dict[str, Any], number: int) -> None:
    peer.handle("eve", None, eve["id"])
    await take(keeping, follow(eve, "nobody", 20 + number))

    async def carried_out() -> bool:
        return await keeping.rows("SELECT FROM outbox WHERE kind = 'refollow'") == []

    await until_found(carried_out)


async def asked_by(keeping: Stage, eve: dict[str, Any], count: int) -> list[Any]:
    found = await keeping.rows(FOLLOWS, eve["id"])
    return found if len(found) == count else []

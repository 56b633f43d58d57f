"""Requests of senders whose mentions were filtered."""

from typing import Any

import pytest

from ..clients import Person, Stage, link
from .streaming.conftest import Edge, edge

__all__ = ["edge"]

REQUESTS = "/api/v1/notifications/requests"
LIST = "/api/v1/notifications"
POLICY = "/api/v2/notifications/policy"


@pytest.fixture
async def ada(ada: Person) -> Person:
    """Filters accounts that she does not follow."""
    assert (await ada.send("PATCH", POLICY, form={"for_not_following": "filter"})).status == 200
    return ada


async def requests(person: Person, query: str = "") -> list[dict[str, Any]]:
    return await person.done("GET", f"{REQUESTS}{query}")


async def senders(person: Person) -> list[str]:
    return [one["account"]["username"] for one in await requests(person)]


async def statuses_told(person: Person) -> list[str]:
    return [one["status"]["id"] for one in (await person.get(LIST)).json]


async def test_a_request_counts_and_shows_the_last_status(ada: Person, bob: Person) -> None:
    await bob.publish("@ada one")
    last = await bob.publish("@ada two")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    (request,) = await requests(ada)
    assert (request["account"]["id"], request["notifications_count"]) == (bob.id, "3")
    assert request["last_status"]["id"] == last["id"]
    assert request["updated_at"] >= request["created_at"]
    assert (await ada.get(f"{REQUESTS}/{request['id']}")).json == request


async def test_only_mentions_make_a_request(ada: Person, bob: Person) -> None:
    liked = await ada.publish("like me")
    await bob.post(f"/api/v1/statuses/{liked['id']}/favourite")
    await bob.post(f"/api/v1/statuses/{liked['id']}/reblog")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    assert await requests(ada) == []


async def test_requests_are_walked_by_their_ids(stage: Stage, ada: Person) -> None:
    for number in range(3):
        await (await stage.person(f"sender{number}")).publish("@ada hello")
    everything = await requests(ada)
    assert [one["account"]["username"] for one in everything] == ["sender2", "sender1", "sender0"]
    first = await ada.get(f"{REQUESTS}?limit=2")
    assert first.json == everything[:2]
    second = await ada.get(link(first, "next"))
    assert second.json == everything[2:]
    assert 'rel="next"' not in second.headers["Link"]
    assert "min_id=" in second.headers["Link"]
    assert (await ada.get(link(second, "prev"))).json == everything[:2]
    assert "Link" not in (await ada.get(f"{REQUESTS}?max_id={everything[2]['id']}")).headers


async def test_an_accepted_request_merges_and_lets_later_ones_in(ada: Person, bob: Person, eve: Person) -> None:
    early = await bob.publish("@ada one")
    await eve.publish("@ada no")
    (_, request) = await requests(ada)
    assert (await ada.post(f"{REQUESTS}/{request['id']}/accept")).json == {}
    assert await senders(ada) == ["eve"]
    assert (await ada.get(f"{REQUESTS}/merged")).json == {"merged": True}
    late = await bob.publish("@ada two")
    assert await statuses_told(ada) == [late["id"], early["id"]]
    assert all("filtered" not in one for one in (await ada.get(LIST)).json)
    assert (await ada.get(f"{REQUESTS}/{request['id']}")).status == 404
    assert (await ada.post(f"{REQUESTS}/{request['id']}/accept")).status == 404


async def test_a_dismissed_request_is_gone_until_the_next_mention(ada: Person, bob: Person) -> None:
    await bob.publish("@ada one")
    (request,) = await requests(ada)
    assert (await ada.post(f"{REQUESTS}/{request['id']}/dismiss")).json == {}
    assert await requests(ada) == []
    assert (await ada.get(f"{LIST}?include_filtered=true")).json == []
    assert (await ada.post(f"{REQUESTS}/{request['id']}/dismiss")).status == 404
    await bob.publish("@ada two")
    (again,) = await requests(ada)
    assert again["id"] != request["id"]
    assert again["notifications_count"] == "1"
    assert await statuses_told(ada) == []


@pytest.mark.parametrize("how", ["accept", "dismiss"])
async def test_several_at_once(stage: Stage, ada: Person, bob: Person, eve: Person, how: str) -> None:
    cleo = await stage.person("cleo")
    for sender in (bob, eve, cleo):
        await sender.publish("@ada hello")
    ids = [one["id"] for one in await requests(ada)]
    done = await ada.post(f"{REQUESTS}/{how}?id[]={ids[0]}&id[]={ids[2]}&id[]=1")
    assert (done.status, done.json) == (200, {})
    assert await senders(ada) == ["eve"]
    assert len(await statuses_told(ada)) == (2 if how == "accept" else 0)
    assert (await ada.post(f"{REQUESTS}/{how}", json={"id": ["1", "x"]})).json == {}
    nothings: list[dict[str, Any]] = [{}, {"id": []}, {"id[]": ""}]
    for nothing in nothings:
        without = await ada.post(f"{REQUESTS}/{how}", json=nothing)
        assert (without.status, without.json) == (200, {}), nothing
    assert await senders(ada) == ["eve"]
    many = await ada.post(f"{REQUESTS}/{how}", json={"id": [str(number) for number in range(101)]})
    assert (many.status, many.json["error"]) == (422, "Validation failed: Id is too long (maximum is 100 items)")


async def test_requests_belong_to_one_account(ada: Person, bob: Person, eve: Person) -> None:
    await bob.publish("@ada one")
    (request,) = await requests(ada)
    for path in ("", "/accept", "/dismiss"):
        method = "POST" if path else "GET"
        assert (await eve.send(method, f"{REQUESTS}/{request['id']}{path}")).status == 404
        assert (await ada.send(method, f"{REQUESTS}/x{path}")).status == 404
    for how in ("accept", "dismiss"):
        await eve.post(f"{REQUESTS}/{how}", {"id[]": request["id"]})
    assert await requests(ada) == [request]
    await eve.publish("@ada let me in")
    assert await statuses_told(ada) == []


async def test_what_is_gone_is_not_requested(ada: Person, bob: Person, eve: Person) -> None:
    status = await bob.publish("@ada one")
    await eve.publish("@ada one")
    await bob.delete(f"/api/v1/statuses/{status['id']}")
    (request,) = await requests(ada)
    await ada.post(f"/api/v1/accounts/{eve.id}/block")
    assert await requests(ada) == []
    assert (await ada.get(f"{REQUESTS}/{request['id']}")).status == 404
    summary = (await ada.get(POLICY)).json["summary"]
    assert summary == {"pending_requests_count": 0, "pending_notifications_count": 0}


async def test_a_sender_that_blocks_shows_the_mention_and_nothing_else(ada: Person, bob: Person) -> None:
    status = await bob.publish("@ada one")
    await bob.post(f"/api/v1/accounts/{ada.id}/block")
    (request,) = await requests(ada)
    assert request["last_status"]["id"] == status["id"]


async def test_accepted_private_mentions_become_conversations(ada: Person, bob: Person) -> None:
    first = await bob.publish("@ada psst", visibility="direct")
    last = await bob.publish("@ada are you there?", visibility="direct", in_reply_to_id=first["id"])
    other = await bob.publish("@ada by the way", visibility="direct")
    assert (await ada.get("/api/v1/conversations")).json == []
    (request,) = await requests(ada)
    await ada.post(f"{REQUESTS}/{request['id']}/accept")
    found = (await ada.get("/api/v1/conversations")).json
    assert [(one["last_status"]["id"], one["unread"]) for one in found] == [(other["id"], True), (last["id"], True)]
    assert [[account["id"] for account in one["accounts"]] for one in found] == [[bob.id], [bob.id]]
    await bob.delete(f"/api/v1/statuses/{last['id']}")
    assert (await ada.get("/api/v1/conversations")).json[1]["last_status"]["id"] == first["id"]


async def test_streams_are_told_of_a_merge_and_not_of_what_is_filtered(edge: Edge, ada: Person, bob: Person) -> None:
    async with edge.socket("?stream=user", ada.token) as stream, edge.socket("?stream=direct", ada.token) as direct:
        await stream.settle()
        await direct.settle()
        await stream.subscribe("user:notification")
        await bob.publish("@ada one", visibility="direct")
        (request,) = await requests(ada)
        await ada.post(f"{REQUESTS}/{request['id']}/accept")
        heard = [await stream.hear() for _ in range(2)]
        assert sorted(frame["stream"] for frame in heard) == [["user"], ["user:notification"]]
        assert {(frame["event"], frame["payload"]) for frame in heard} == {("notifications_merged", "1")}
        assert (await direct.hear())["event"] == "conversation"
        await bob.publish("@ada two")
        assert (await stream.hear())["event"] == "notification"

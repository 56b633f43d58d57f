"""Streams as server-sent events."""

import json

import pytest

from troupe.http.streaming import sse

from ... import plain_http
from ...clients import Person, Stage
from .conftest import PATIENCE, Edge


async def test_a_status_comes_and_goes(edge: Edge, ada: Person, follower: Person) -> None:
    async with edge.events("user", follower.token) as stream:
        assert await stream.comment() == ")"
        assert stream.response.headers["content-type"] == "text/event-stream"
        assert "no-store" in stream.response.headers["cache-control"]
        assert stream.response.headers["access-control-allow-origin"] == "*"
        assert stream.response.headers["x-request-id"]
        status = await ada.publish("one\ntwo")
        name, data = await stream.hear()
        assert (name, json.loads(data)["id"]) == ("update", status["id"])
        await ada.delete(f"/api/v1/statuses/{status['id']}")
        assert await stream.hear() == ("delete", status["id"])
    await edge.quiet()


async def test_notifications(edge: Edge, ada: Person, bob: Person) -> None:
    async with edge.events(f"user/notification?access_token={ada.token}") as stream:
        await bob.post(f"/api/v1/accounts/{ada.id}/follow")
        name, data = await stream.hear()
        assert (name, json.loads(data)["account"]["id"]) == ("notification", bob.id)


@pytest.mark.parametrize("path", ["public", "public/", "public/local", "hashtag?tag=tea", "hashtag/local?tag=%23Tea"])
async def test_public_event_streams_need_no_token(edge: Edge, ada: Person, path: str) -> None:
    async with edge.events(path) as stream:
        status = await ada.publish("#tea")
        name, data = await stream.hear()
        assert (name, json.loads(data)["id"]) == ("update", status["id"])


async def test_only_media_leaves_the_rest_out(edge: Edge, ada: Person) -> None:
    async with edge.events("public?only_media=true") as media, edge.events("public?only_media=false") as everything:
        status = await ada.publish()
        assert json.loads((await everything.hear())[1])["id"] == status["id"]
        await ada.delete(f"/api/v1/statuses/{status['id']}")
        assert await media.hear() == ("delete", status["id"])


@pytest.mark.parametrize(
    ("path", "signed_in", "status", "text"),
    [
        ("user", False, 401, "Missing access token"),
        ("user?access_token=nonsense", False, 401, "Invalid access token"),
        ("user/notification", True, 401, "Access token does not have the required scopes"),
        ("nonsense", True, 400, "Unknown channel requested"),
        ("public/media", True, 400, "Unknown channel requested"),
        ("user:notification", True, 400, "Unknown channel requested"),
        ("hashtag", True, 400, "Missing tag name parameter"),
        ("list", True, 400, "Missing list name parameter"),
        ("list?list=7", True, 401, "Not authorized to stream this list"),
    ],
)
async def test_a_refusal_is_an_ordinary_answer(
    stage: Stage, path: str, signed_in: bool, status: int, text: str
) -> None:
    ada = await stage.person("ada", ("read:statuses",))
    client = ada if signed_in else stage.anybody()
    reply = await client.get(f"/api/v1/streaming/{path}")
    assert (reply.status, reply.json) == (status, {"error": text})
    assert reply.headers["access-control-allow-origin"] == "*"
    assert len(stage.http_context.streams) == 0


async def test_what_is_below_the_root_and_no_stream(stage: Stage) -> None:
    health = await stage.anybody().get("/api/v1/streaming/health")
    assert (health.status, health.body) == (200, b"OK")
    assert health.headers["content-type"].startswith("text/plain")
    assert (await stage.anybody().get("/api/v1/streaming")).status == 404
    assert (await stage.anybody().get("/api/v1/streaming/")).status == 404
    preflight = await stage.anybody().send("OPTIONS", "/api/v1/streaming/user")
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-origin"] == "*"


async def test_a_quiet_stream_is_kept_alive(edge: Edge, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.01)
    async with edge.events("user", ada.token) as stream:
        assert [await stream.line() for _ in range(3)] == [":)", ":thump", ":thump"]


async def test_a_closing_house_ends_the_stream(edge: Edge, stage: Stage, ada: Person) -> None:
    async with edge.events("user", ada.token) as own, edge.events("public") as anonymous:
        stage.http_context.streams.close_all()
        await own.ends()
        await anonymous.ends()
    await edge.quiet()


async def test_a_failed_actor_ends_the_stream(edge: Edge, stage: Stage, ada: Person) -> None:
    """What was queued before is still delivered: the client knows from where to page on."""
    async with edge.events("user", ada.token) as stream, edge.events("user", ada.token) as other:
        status = await ada.publish()
        await other.hear()  # The actor has it, which the answer to the post did not wait for.
        stage.http_context.runtime.pools["home"].cut_streams()
        assert json.loads((await stream.hear())[1])["id"] == status["id"]
        await stream.ends()
    await edge.quiet()


async def test_a_tag_that_nothing_can_have_is_refused(edge: Edge) -> None:
    async with plain_http.async_client(base_url=edge.url, timeout=PATIENCE) as client:
        refused = await client.get("/api/v1/streaming/hashtag", params={"tag": "x" * 5_000})
    assert (refused.status_code, refused.json()) == (400, {"error": "The tag name is too long"})


async def test_a_head_says_what_the_stream_would_and_opens_none(edge: Edge, ada: Person) -> None:
    async with plain_http.async_client(base_url=edge.url, timeout=PATIENCE) as client:
        opened = await client.head(f"/api/v1/streaming/user?access_token={ada.token}")
        refused = await client.head("/api/v1/streaming/user")
    assert (opened.status_code, opened.headers["content-type"]) == (200, "text/event-stream")
    assert opened.headers["date"]
    assert refused.status_code == 401
    await edge.quiet()

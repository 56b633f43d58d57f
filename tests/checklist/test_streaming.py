"""The seed checklist's rows on streams."""

import pytest

from .. import plain_http
from ..clients import Person, Stage
from ..http.streaming.conftest import PATIENCE, Edge, edge
from .rows import rows

__all__ = ["edge"]

PATHS = (
    "user", "user/notification", "public", "public?only_media=true", "public/local", "public/local?only_media=true",
    "public/remote", "public/remote?only_media=true", "hashtag?tag=cat", "hashtag/local?tag=cat", "list?list={list}",
    "direct",
)  # fmt: skip
NAMES = (
    "user", "user:notification", "public", "public:media", "public:local", "public:local:media", "public:remote",
    "public:remote:media", "hashtag", "hashtag:local", "list", "direct",
)  # fmt: skip


@pytest.fixture
async def list_id(ada: Person) -> str:
    return (await ada.post("/api/v1/lists", {"title": "friends"})).json["id"]


@rows("S003")
async def test_the_streaming_api_is_there(edge: Edge, stage: Stage, ada: Person) -> None:
    health = await stage.anybody().get("/api/v1/streaming/health")
    assert (health.status, health.text) == (200, "OK")
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()


@pytest.mark.parametrize("path", PATHS)
@rows("S219")
async def test_every_stream_opens_by_its_path(edge: Edge, ada: Person, list_id: str, path: str) -> None:
    async with edge.events(path.format(list=list_id), ada.token) as stream:
        assert await stream.comment() == ")"
        assert stream.response.headers["content-type"] == "text/event-stream"


@rows("S219")
async def test_every_stream_opens_by_its_name(edge: Edge, ada: Person, list_id: str) -> None:
    async with edge.socket("", ada.token) as stream:
        for name in NAMES:
            await stream.subscribe(name, tag="cat", list=list_id)
        status = await ada.publish("psst #cat")
        heard = [await stream.hear() for _ in range(5)]
        assert {frame["stream"][0] for frame in heard} == {
            "user", "public", "public:local", "hashtag", "hashtag:local"
        }  # fmt: skip
        assert {frame["payload"]["id"] for frame in heard} == {status["id"]}
        await stream.settle()


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("nonsense", 400, "Unknown channel requested"),
        ("public/media", 400, "Unknown channel requested"),
        ("hashtag", 400, "Missing tag name parameter"),
        ("list", 400, "Missing list name parameter"),
        ("list?list=103", 401, "Not authorized to stream this list"),
    ],
)
@rows("S219")
async def test_what_is_no_stream_is_refused(edge: Edge, ada: Person, path: str, status: int, text: str) -> None:
    async with plain_http.async_client(base_url=edge.url, timeout=PATIENCE) as client:
        headers = {"Authorization": f"Bearer {ada.token}"}
        answer = await client.get(f"/api/v1/streaming/{path}", headers=headers)
    assert (answer.status_code, answer.json()) == (status, {"error": text})


@rows("S238")
async def test_a_deletion_names_the_id_as_text(edge: Edge, ada: Person) -> None:
    status = await ada.publish("a mistake")
    async with edge.socket("?stream=user", ada.token) as stream, edge.events("user", ada.token) as events:
        await stream.settle()
        await events.comment()
        await ada.delete(f"/api/v1/statuses/{status['id']}")
        frame = await stream.hear()
        assert (frame["event"], frame["payload"]) == ("delete", status["id"])
        assert isinstance(frame["payload"], str)
        assert await events.hear() == ("delete", status["id"])

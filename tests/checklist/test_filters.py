"""The seed checklist's rows on filters, over the first version of the API."""

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest

from ..clients import HOME, Person, ids
from ..http.streaming.conftest import Edge, edge
from .rows import rows

__all__ = ["edge"]

FILTERS = "/api/v1/filters"
NOTIFICATIONS = "/api/v1/notifications"


async def filter_phrase(person: Person, phrase: str, *contexts: str, **more: Any) -> Any:
    return await person.done("POST", FILTERS, json={"phrase": phrase, "context": contexts, **more})


@pytest.fixture
async def author(ada: Person, bob: Person) -> Person:
    """Bob, whom Ada follows."""
    assert (await ada.post(f"/api/v1/accounts/{bob.id}/follow")).status == 200
    return bob


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the server's clock so many seconds on."""

    def move(seconds: float) -> None:
        class Later(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:
                return datetime.now(tz) + timedelta(seconds=seconds)

        monkeypatch.setattr("troupe.actors.kernel.clock.datetime", Later)

    return move


@rows("S055")
async def test_a_filter_has_all_its_options(ada: Person) -> None:
    made = await filter_phrase(
        ada, "zebra", "home", "thread", expires_in=3600, irreversible=True, whole_word=False
    )  # fmt: skip
    assert made == {
        "id": made["id"], "phrase": "zebra", "context": ["home", "thread"], "expires_at": made["expires_at"],
        "irreversible": True, "whole_word": False,
    }  # fmt: skip
    assert made["expires_at"].endswith("Z")
    plain = await filter_phrase(ada, "lion", "public")
    assert (plain["irreversible"], plain["whole_word"], plain["expires_at"]) == (False, True, None)


@rows("S056")
async def test_irreversible_filters_drop_from_home(edge: Edge, ada: Person, author: Person) -> None:
    await filter_phrase(ada, "zebra", "home", irreversible=True)
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        await author.publish("A Zebra!")
        own = await ada.publish("my zebra")
        seen = await author.publish("a lion")
        assert [(await stream.hear())["payload"]["id"] for _ in range(2)] == [own["id"], seen["id"]]
        await stream.settle()
    assert ids(await ada.get(HOME)) == [seen["id"], own["id"]]


@rows("S057")
async def test_irreversible_filters_drop_from_notifications(edge: Edge, ada: Person, bob: Person) -> None:
    await filter_phrase(ada, "zebra", "notifications", irreversible=True)
    async with edge.socket("?stream=user:notification", ada.token) as stream:
        await stream.settle()
        await bob.publish("@ada zebra")
        told = await bob.publish("@ada lion")
        assert (await stream.hear())["payload"]["status"]["id"] == told["id"]
        await stream.settle()
    for path in (NOTIFICATIONS, "/api/v2/notifications"):
        answer = await ada.get(path)
        assert told["id"] in answer.text
        assert "zebra" not in answer.text.lower()
        assert (await ada.get(f"{path}/unread_count")).json == {"count": 1}


@rows("S058")
async def test_reversible_filters_are_left_to_the_client(edge: Edge, ada: Person, author: Person) -> None:
    await filter_phrase(ada, "zebra", "home", "notifications")
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        status = await author.publish("a zebra")
        frame = await stream.hear()
    assert frame["payload"]["id"] == status["id"]
    (home,) = (await ada.get(HOME)).json
    for shown in (frame["payload"], home):
        assert [one["filter"]["title"] for one in shown["filtered"]] == ["zebra"]
        assert shown["filtered"][0]["filter"]["filter_action"] == "warn"


@rows("S059")
async def test_a_filter_can_ignore_word_boundaries(ada: Person, author: Person) -> None:
    made = await filter_phrase(ada, "cat", "home", irreversible=True, whole_word=False)
    inside, alone = await author.publish("concatenate"), await author.publish("a cat.")
    assert ids(await ada.get(HOME)) == []
    changed = await ada.put(
        f"{FILTERS}/{made['id']}", json={"phrase": "cat", "context": ["home"], "irreversible": True, "whole_word": True}
    )
    assert changed.json["whole_word"] is True
    assert ids(await ada.get(HOME)) == [inside["id"]]
    await ada.delete(f"{FILTERS}/{made['id']}")
    assert ids(await ada.get(HOME)) == [alone["id"], inside["id"]]


@rows("S162")
async def test_filters_are_created_and_listed(ada: Person) -> None:
    assert (await ada.get(FILTERS)).json == []
    made = [await filter_phrase(ada, "zebra", "home"), await filter_phrase(ada, "lion", "public")]
    assert (await ada.get(FILTERS)).json == made


@rows("S163")
async def test_one_filter_is_read_changed_and_deleted(ada: Person, bob: Person) -> None:
    made = await filter_phrase(ada, "zebra", "home")
    path = f"{FILTERS}/{made['id']}"
    assert (await ada.get(path)).json == made
    change = {"phrase": "lion", "context": ["public"], "whole_word": "false", "expires_in": "60"}
    changed = await ada.done("PUT", path, json=change)
    assert changed["id"] == made["id"]
    assert (changed["phrase"], changed["context"], changed["whole_word"]) == ("lion", ["public"], False)
    assert changed["expires_at"] is not None
    for answer in (await bob.get(path), await bob.put(path, json=change), await bob.delete(path)):
        assert (answer.status, answer.json) == (404, {"error": "Record not found"})
    assert (await ada.get(path)).json == changed
    deleted = await ada.delete(path)
    assert (deleted.status, deleted.json) == (200, {})
    assert (await ada.get(path)).status == 404
    assert (await ada.get(FILTERS)).json == []


@rows("S164")
async def test_an_expired_filter_no_longer_applies(
    edge: Edge, ada: Person, author: Person, later: Callable[[float], None]
) -> None:
    made = await filter_phrase(ada, "zebra", "home", irreversible=True, expires_in=1)
    first = await author.publish("a zebra")
    assert ids(await ada.get(HOME)) == []
    async with edge.socket("?stream=user", ada.token) as stream:
        await stream.settle()
        later(2)
        second = await author.publish("another zebra")
        assert (await stream.hear())["payload"]["id"] == second["id"]
    home = (await ada.get(HOME)).json
    assert [one["id"] for one in home] == [second["id"], first["id"]]
    assert [one["filtered"] for one in home] == [[], []]
    assert (await ada.get(FILTERS)).json == [made]


@rows("S240", "S241")
async def test_each_change_emits_an_event_on_the_owners_stream(edge: Edge, ada: Person, bob: Person) -> None:
    changed = {"stream": ["user"], "event": "filters_changed"}
    async with (
        edge.socket("?stream=user", ada.token) as stream,
        edge.socket("?stream=user", bob.token) as other,
        edge.events("user", ada.token) as events,
    ):
        await stream.settle()
        await other.settle()
        await events.comment()
        made = await filter_phrase(ada, "zebra", "home")
        assert await stream.hear() == changed
        assert await events.hear() == ("filters_changed", "undefined")
        await ada.put(f"{FILTERS}/{made['id']}", json={"phrase": "zebra", "context": ["home"]})
        assert await stream.hear() == changed
        await ada.delete(f"{FILTERS}/{made['id']}")
        assert await stream.hear() == changed
        await other.settle()

"""The stream of a list."""

from datetime import timedelta

import pytest
import trio

from troupe.actors.timelines import timeline

from ...checklist.rows import rows
from ...clients import HOME, Person, Stage, ids
from .conftest import PATIENCE, Edge


@pytest.fixture
async def list_id(ada: Person, bob: Person) -> str:
    """A list of Ada's with Bob on it."""
    await ada.post(f"/api/v1/accounts/{bob.id}/follow")
    made = (await ada.post("/api/v1/lists", {"title": "friends"})).json["id"]
    await ada.post(f"/api/v1/lists/{made}/accounts", json={"account_ids": [bob.id]})
    return made


@rows("S236")
async def test_a_lists_stream_shows_its_members_alone(
    edge: Edge, stage: Stage, ada: Person, bob: Person, list_id: str
) -> None:
    cleo = await stage.person("cleo")
    await ada.post(f"/api/v1/accounts/{cleo.id}/follow")
    async with edge.socket(f"?stream=list&list={list_id}", ada.token) as stream:
        await stream.settle()
        await cleo.publish("not on it")
        shown = await bob.publish("on it")
        frame = await stream.hear()
        assert (frame["stream"], frame["event"], frame["payload"]["id"]) == (["list", list_id], "update", shown["id"])
        await ada.post(f"/api/v1/lists/{list_id}/accounts", json={"account_ids": [cleo.id]})
        later = await cleo.publish("on it now")
        assert (await stream.hear())["payload"]["id"] == later["id"]
        await bob.delete(f"/api/v1/statuses/{shown['id']}")
        assert (await stream.hear())["payload"] == shown["id"]


@rows("S237")
async def test_a_lists_stream_is_its_owners_alone(edge: Edge, bob: Person, list_id: str) -> None:
    async with edge.socket("", bob.token) as stream:
        await stream.say(type="subscribe", stream="list", list=list_id)
        assert await stream.hear() == {"error": "Not authorized to stream this list", "status": 401}


@pytest.mark.parametrize("change", ["the end of a mute", "another policy", "no longer exclusive"])
async def test_what_was_turned_away_is_no_news_later(
    edge: Edge, monkeypatch: pytest.MonkeyPatch, ada: Person, bob: Person, cyd: Person, list_id: str, change: str
) -> None:
    """A stream that is open for a day would show the posts of the day as new ones, after all others."""
    monkeypatch.setattr(timeline, "SETTLED", timedelta(0))
    terms, streams = f"/api/v1/lists/{list_id}", {"list": f"/api/v1/timelines/list/{list_id}", "user": HOME}
    await ada.post(f"/api/v1/accounts/{cyd.id}/follow")
    question = await cyd.publish("a question")
    match change:
        case "the end of a mute":
            await ada.put(terms, {"replies_policy": "followed"})
            await ada.post(f"/api/v1/accounts/{bob.id}/mute")
            ended, stream_name = ada.post(f"/api/v1/accounts/{bob.id}/unmute"), "list"
        case "another policy":
            await ada.put(terms, {"replies_policy": "none"})
            ended, stream_name = ada.put(terms, {"replies_policy": "followed"}), "list"
        case _:
            await ada.put(terms, {"exclusive": "true"})
            ended, stream_name = ada.put(terms, {"exclusive": "false"}), "user"
    async with edge.socket(f"?stream={stream_name}&list={list_id}", ada.token) as stream:
        await stream.settle()
        answer = await bob.publish("an answer", in_reply_to_id=question["id"])
        assert answer["id"] not in ids(await ada.get(streams[stream_name]))
        await ended
        with trio.fail_after(PATIENCE):
            while answer["id"] not in ids(await ada.get(streams[stream_name])):
                await trio.lowlevel.checkpoint()
        later = await bob.publish("afterwards")
        assert (await stream.hear())["payload"]["id"] == later["id"]

"""Streams that were interrupted: the client names the last event that it was shown, and is shown what it missed."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from trio_websocket import ConnectionClosed

from troupe.actors.kernel import first_id_at
from troupe.actors.kernel.resumption import LEFT_OUT, MOST_KEYS, FeedProgress, Publication, ResumptionPoint
from troupe.actors.timelines import missed, timeline
from troupe.actors.timelines.missed import Missed, MissedEvents, Replayable
from troupe.http.access.streams import StreamEnd
from troupe.storage.engine.json_values import is_object
from troupe.storage.secrets import hash_of

from ...clients import Person, Stage
from .conftest import Edge, Socket

Shown = list[tuple[str, Any]]


def brief(frame: dict[str, Any]) -> tuple[str, Any]:
    """What a frame says, with the id of what it is about."""
    payload = frame.get("payload")
    return frame["event"], payload["id"] if is_object(payload) else payload


async def all_missed(stream: Socket) -> Shown:
    """What a resumed stream shows, up to the event that ends it."""
    shown: Shown = []
    while not shown or shown[-1][0] not in ("resumed", "gap"):
        shown.append(brief(await stream.hear()))
    return shown[:-1] if shown[-1][0] == "resumed" else shown


@asynccontextmanager
async def resumed(edge: Edge, token: str | None, since: str, stream: str = "user") -> AsyncGenerator[Socket]:
    async with edge.socket(f"?stream={stream}&since={since}", token) as socket:
        yield socket


async def interrupted(edge: Edge, token: str | None, stream: str = "user") -> str:
    """Open a stream, close it at once, and return the id from which it can be resumed."""
    async with resumed(edge, token, "now", stream) as socket:
        assert (await socket.hear())["event"] == "resumed"
        return socket.id


async def test_what_was_missed_is_shown_in_order_and_then_what_is_new(
    edge: Edge, ada: Person, follower: Person
) -> None:
    since = await interrupted(edge, follower.token)
    one = await ada.publish("one")
    two = await ada.publish("@bob two")
    await ada.put(f"/api/v1/statuses/{one['id']}", {"status": "one, edited"})
    async with resumed(edge, follower.token, since) as stream:
        shown = await all_missed(stream)
        assert [id for event, id in shown if event == "update"] == [one["id"], two["id"]]
        assert [event for event, _ in shown].count("notification") == 1
        assert len(shown) == 3
        three = await ada.publish("three")
        assert brief(await stream.hear()) == ("update", three["id"])
        since = stream.id
    async with resumed(edge, follower.token, since) as stream:
        assert await all_missed(stream) == []


async def test_each_event_has_an_id_and_what_came_after_it_is_shown_again(
    edge: Edge, ada: Person, follower: Person
) -> None:
    """Also what was told at once and is not in the log yet."""
    async with edge.socket("?stream=user", follower.token) as stream:
        await stream.settle()
        published = [await ada.publish(f"{number}") for number in range(4)]
        ids = [(brief(await stream.hear())[1], stream.id) for _ in published]
    assert len({since for _, since in ids}) == len(ids)
    for place, (_, since) in enumerate(ids):
        async with resumed(edge, follower.token, since) as stream:
            assert await all_missed(stream) == [("update", id) for id, _ in ids[place + 1 :]]


async def test_edits_and_deletions_of_what_was_shown_before(edge: Edge, ada: Person, follower: Person) -> None:
    edited, deleted = await ada.publish("edited"), await ada.publish("deleted")
    since = await interrupted(edge, follower.token)
    for text in ("once", "twice"):
        await ada.put(f"/api/v1/statuses/{edited['id']}", {"status": text})
    await ada.delete(f"/api/v1/statuses/{deleted['id']}")
    passing = await ada.publish("came and went")
    await ada.delete(f"/api/v1/statuses/{passing['id']}")
    async with resumed(edge, follower.token, since) as stream:
        assert await all_missed(stream) == [("status.update", edited["id"]), ("delete", deleted["id"])]


async def test_the_deletion_of_a_status_whose_key_was_left_out_is_shown(
    edge: Edge, ada: Person, follower: Person
) -> None:
    since = await interrupted(edge, follower.token)
    status = await ada.publish("shown, but its key is not in the id")
    await ada.delete(f"/api/v1/statuses/{status['id']}")
    async with resumed(edge, follower.token, f"{since}.{LEFT_OUT}") as stream:
        assert await all_missed(stream) == [("delete", status["id"])]


async def test_an_id_above_all_positions_is_a_gap(edge: Edge, ada: Person) -> None:
    async with resumed(edge, ada.token, "9" * 18) as stream:
        assert [event for event, _ in await all_missed(stream)] == ["gap"]


async def test_conversations(edge: Edge, ada: Person, bob: Person) -> None:
    since = await interrupted(edge, bob.token, "direct")
    await ada.publish("@bob psst", visibility="direct")
    async with resumed(edge, bob.token, since, "direct") as stream:
        ((event, conversation),) = await all_missed(stream)
        assert (event, json.loads(conversation)["last_status"]["account"]["id"]) == ("conversation", ada.id)


@pytest.mark.parametrize("name", ["public", "public:local", "hashtag&tag=tea", "hashtag:local&tag=tea"])
async def test_public_streams(edge: Edge, ada: Person, bob: Person, name: str) -> None:
    since = await interrupted(edge, None, name)
    status = await ada.publish("#tea")
    await ada.publish("#tea", visibility="private")
    await bob.publish("#tea", visibility="unlisted")
    async with resumed(edge, None, since, name) as stream:
        assert await all_missed(stream) == [("update", status["id"])]


async def test_lists(edge: Edge, ada: Person, follower: Person) -> None:
    made = (await follower.post("/api/v1/lists", {"title": "people"})).json
    await follower.post(f"/api/v1/lists/{made['id']}/accounts", {"account_ids[]": ada.id})
    name = f"list&list={made['id']}"
    since = await interrupted(edge, follower.token, name)
    status = await ada.publish()
    async with resumed(edge, follower.token, since, name) as stream:
        assert await all_missed(stream) == [("update", status["id"])]


async def test_a_block_in_between_hides_what_was_missed(edge: Edge, ada: Person, follower: Person) -> None:
    since = await interrupted(edge, follower.token)
    await ada.publish("before the block")
    await follower.post(f"/api/v1/accounts/{ada.id}/block")
    async with resumed(edge, follower.token, since) as stream:
        assert await all_missed(stream) == []


async def test_a_token_that_is_revoked_meanwhile_is_shown_nothing(
    stage: Stage, edge: Edge, ada: Person, follower: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = await interrupted(edge, follower.token)
    await ada.publish()
    found = list[int]()

    async def revoked(replayed: Replayable, message: MissedEvents) -> Missed:
        shown = await missed.missed_by(replayed, message)
        if message.since is not None:
            found.append(len(shown.events))
            stage.http_context.streams.close_token(hash_of(follower.token or ""))
        return shown

    monkeypatch.setattr(timeline, "missed_by", revoked)
    async with resumed(edge, follower.token, since) as stream:
        with pytest.raises(ConnectionClosed) as closed:
            await stream.hear()
    assert closed.value.reason is not None
    assert (closed.value.reason.code, closed.value.reason.reason) == StreamEnd.REVOKED.value
    assert found == [1]


async def test_streams_are_resumed_one_by_one_on_one_connection(edge: Edge, ada: Person, follower: Person) -> None:
    since = await interrupted(edge, follower.token)
    status = await ada.publish()
    async with edge.socket("", follower.token) as stream:
        await stream.say(type="subscribe", stream="public", since="now")
        assert (await stream.hear())["stream"] == ["public"]
        await stream.say(type="subscribe", stream="user", since=since)
        assert (await stream.hear())["payload"]["id"] == status["id"]
        assert await stream.hear() == {"stream": ["user"], "event": "resumed"}


async def test_server_sent_events_resume_as_browsers_do(edge: Edge, ada: Person, follower: Person) -> None:
    async with edge.events("user", follower.token) as stream:
        first = await ada.publish()
        assert brief_sse(await stream.hear()) == ("update", first["id"])
        since = stream.id
        assert since
    second = await ada.publish()
    async with edge.events("user", follower.token, since) as stream:
        assert brief_sse(await stream.hear()) == ("update", second["id"])


async def test_a_client_of_events_that_was_shown_nothing_can_resume(edge: Edge, ada: Person, follower: Person) -> None:
    async with edge.events("user?since=now", follower.token) as stream:
        since = await stream.next_id()
    status = await ada.publish()
    async with edge.events("user", follower.token, since) as stream:
        assert brief_sse(await stream.hear()) == ("update", status["id"])


async def test_an_id_stands_with_an_event_for_clients_that_have_named_none(
    edge: Edge, ada: Person, follower: Person
) -> None:
    """Mastodon.py refuses a block that is no event."""
    async with edge.events("user", follower.token) as stream:
        assert await stream.comment() == ")"
        status = await ada.publish()
        assert (await stream.block())[:2] == [f"id: {stream.id}", "event: update"]
        assert status["id"] in stream.id


def brief_sse(event: tuple[str, str]) -> tuple[str, str]:
    return event[0], json.loads(event[1])["id"]


@pytest.mark.parametrize("since", ["nonsense", "-5", "1.x", "9" * 30, "1" + ".1" * (MOST_KEYS + 1)])
async def test_an_id_that_is_none_is_a_gap(edge: Edge, ada: Person, since: str) -> None:
    async with resumed(edge, ada.token, since) as stream:
        assert await all_missed(stream) == [("gap", '{"since":null}')]
        since = stream.id
    async with resumed(edge, ada.token, since) as stream:
        assert await all_missed(stream) == []


async def test_what_is_too_long_ago_is_a_gap(edge: Edge, stage: Stage, ada: Person) -> None:
    since = first_id_at(stage.http_context.clock.now() - timedelta(days=2))
    async with resumed(edge, ada.token, f"{since}") as stream:
        ((event, payload),) = await all_missed(stream)
        assert event == "gap"
        assert datetime.fromisoformat(json.loads(payload)["since"]) == ResumptionPoint(since).time


async def test_too_much_is_a_gap(edge: Edge, ada: Person, follower: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missed, "MOST_CHANGES", 3)
    since = await interrupted(edge, follower.token)
    for number in range(3):
        await ada.publish(f"{number}")
    async with resumed(edge, follower.token, since) as stream:
        ((event, _),) = await all_missed(stream)
        assert event == "gap"
        status = await ada.publish()
        assert brief(await stream.hear()) == ("update", status["id"])


async def test_clients_that_know_nothing_of_ids_see_what_they_always_saw(
    edge: Edge, ada: Person, follower: Person
) -> None:
    await ada.publish("before")
    async with edge.socket("?stream=user", follower.token) as stream:
        await stream.settle()
        status = await ada.publish("after")
        assert brief(await stream.hear()) == ("update", status["id"])


def test_an_id_names_what_was_told_and_is_not_in_the_log() -> None:
    progress = FeedProgress()
    assert progress.after(Publication(0, 0, 0), "") == ""
    assert progress.after(Publication(10, 1, 1), "1") == "10.1"
    assert progress.after(Publication(10, 2, 1), "2") == "10.1.2"
    assert progress.after(Publication(20, 3, 2), "3") == "20.2.3"
    assert progress.after(Publication(0, 0, 0), "4") == "20.2.3.4"
    assert progress.after(Publication(30, 4, 4), "d3") == "30.4.d3"


def test_ids_are_bounded() -> None:
    progress = FeedProgress()
    last = [progress.after(Publication(10, number, 1), f"{number}") for number in range(1, 3 * MOST_KEYS)][-1]
    point = ResumptionPoint.read(last)
    assert point is not None
    assert (point.position, len(point.keys)) == (10, MOST_KEYS)

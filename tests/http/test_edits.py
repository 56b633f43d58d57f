"""Edits: a full replacement, its history, and who hears of it."""

from typing import Any

import pytest

from ..clients import Person, Stage
from .uploading import attach, fetched, files_removed, uploaded


async def edit(person: Person, status: Any, text: str = "", **more: Any) -> Any:
    return await person.done("PUT", f"/api/v1/statuses/{status['id']}", json={"status": text} | more)


async def test_an_edit_replaces_everything_but_language(stage: Stage, ada: Person) -> None:
    status = await ada.publish("one #old", spoiler_text="warm", language="de", visibility="unlisted")
    assert status["edited_at"] is None
    edited = await edit(ada, status, "two #new")
    kept = ("id", "uri", "url", "created_at", "visibility", "language", "replies_count")
    assert {key: edited[key] for key in kept} == {key: status[key] for key in kept}
    assert (edited["spoiler_text"], edited["sensitive"]) == ("", False)
    assert "two" in edited["content"]
    assert [tag["name"] for tag in edited["tags"]] == ["new"]
    assert edited["edited_at"] > edited["created_at"]
    assert (await stage.anybody().get(f"/api/v1/statuses/{status['id']}")).json["content"] == edited["content"]
    assert (await edit(ada, status, "two #new", language="fr"))["language"] == "fr"


async def test_the_history_begins_with_what_was_published(stage: Stage, ada: Person) -> None:
    status = await ada.publish("one")
    path = f"/api/v1/statuses/{status['id']}/history"
    assert [one["content"] for one in (await ada.get(path)).json] == ["<p>one</p>"]
    await edit(ada, status, "two", spoiler_text="warm")
    await edit(ada, status, "three")
    history = (await stage.anybody().get(path)).json
    assert [(one["content"], one["spoiler_text"], one["sensitive"]) for one in history] == [
        ("<p>one</p>", "", False), ("<p>two</p>", "warm", True), ("<p>three</p>", "", False),
    ]  # fmt: skip
    assert history[0]["created_at"] == status["created_at"] < history[1]["created_at"]
    assert history[0].keys() == {
        "content", "spoiler_text", "sensitive", "created_at", "account", "media_attachments", "emojis"
    }  # fmt: skip
    assert history[0]["account"]["id"] == ada.id


async def test_an_edit_that_changes_nothing_is_none(ada: Person) -> None:
    status = await ada.publish("one @ada #x", spoiler_text="warm")
    same = await edit(ada, status, "one @ada #x", spoiler_text="warm")
    assert same == status
    assert len((await ada.get(f"/api/v1/statuses/{status['id']}/history")).json) == 1


async def test_what_was_typed_can_be_typed_anew(ada: Person, bob: Person) -> None:
    status = await ada.publish("a *b* @bob", spoiler_text="warm", content_type="text/markdown")
    source = (await ada.get(f"/api/v1/statuses/{status['id']}/source")).json
    assert source == {
        "id": status["id"], "text": "a *b* @bob", "spoiler_text": "warm", "content_type": "text/markdown"
    }  # fmt: skip
    assert "<em>c</em>" in (await edit(ada, status, "a *c*"))["content"]
    assert (await bob.get(f"/api/v1/statuses/{status['id']}/source")).status == 200


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({}, "Text can't be blank"),
        ({"status": "x" * 501}, "Text character limit of 500 exceeded"),
        ({"status": "x", "poll": {"options": ["a"], "expires_in": 300}}, "Choices must have more than one item"),
        ({"status": "x", "poll": {"options": ["a", "b"]}}, "Deadline can't be blank"),
        ({"status": "x", "poll": {"options": ["a", "b"], "expires_in": 1}}, "Deadline is too soon"),
    ],
)
async def test_what_can_be_no_edit(ada: Person, form: dict[str, Any], text: str) -> None:
    status = await ada.publish("one")
    answer = await ada.send("PUT", f"/api/v1/statuses/{status['id']}", json=form)
    assert (answer.status, answer.json) == (422, {"error": f"Validation failed: {text}"})
    assert (await ada.get(f"/api/v1/statuses/{status['id']}")).json == status


async def test_only_the_author_edits_and_no_boosts(ada: Person, bob: Person) -> None:
    status = await ada.publish("one")
    boost = (await ada.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    form = {"status": "two"}
    assert (await bob.put(f"/api/v1/statuses/{status['id']}", form)).status == 404
    assert (await ada.put(f"/api/v1/statuses/{boost['id']}", form)).status == 403
    await ada.delete(f"/api/v1/statuses/{status['id']}")
    assert (await ada.put(f"/api/v1/statuses/{status['id']}", form)).status == 404


async def test_the_newly_mentioned_are_told_and_the_old_go_on_seeing(stage: Stage, ada: Person, bob: Person) -> None:
    cyd = await stage.person("cyd")
    status = await ada.publish("psst @bob", visibility="direct")
    edited = await edit(ada, status, "psst @cyd")
    assert await edit(ada, status, "psst @cyd") == edited
    assert [mention["id"] for mention in edited["mentions"]] == [cyd.id]
    for person in (bob, cyd):
        assert (await person.get(f"/api/v1/statuses/{status['id']}")).status == 200
    told = await stage.rows("SELECT account_id, type FROM notifications ORDER BY id")
    assert told == [[bob.account.id, "mention"], [cyd.account.id, "mention"]]
    (conversation,) = (await cyd.get("/api/v1/conversations")).json
    assert (conversation["unread"], conversation["last_status"]["id"]) == (True, status["id"])


async def test_who_boosted_is_told_of_the_latest_edit(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("one")
    await bob.post(f"/api/v1/statuses/{status['id']}/reblog")
    seen: list[Any] = []
    for text in ("two", "two", "three"):
        await edit(ada, status, text)
        seen.append(await stage.rows("SELECT id FROM notifications WHERE account_id = $1", bob.account.id))
    assert [len(rows) for rows in seen] == [1, 1, 1]
    assert seen[0] == seen[1] < seen[2]


async def test_other_options_begin_a_poll_anew(ada: Person, bob: Person) -> None:
    terms = {"options": ["yes", "no"], "expires_in": 300}
    status = (await ada.send("POST", "/api/v1/statuses", json={"status": "?", "poll": terms})).json
    path = f"/api/v1/polls/{status['poll']['id']}"
    await bob.post(f"{path}/votes", {"choices[]": "0"})
    same = await edit(ada, status, "??", poll={"options": ["yes", "no"]})
    assert (same["poll"]["id"], same["poll"]["votes_count"]) == (status["poll"]["id"], 1)
    other = await edit(ada, status, "??", poll={"options": ["yes", "no", "well"], "expires_in": 600})
    assert (other["poll"]["votes_count"], other["poll"]["voters_count"]) == (0, 0)
    assert other["poll"]["expires_at"] > same["poll"]["expires_at"]
    for seen in ((await bob.get(path)).json, (await bob.get(f"/api/v1/statuses/{status['id']}")).json["poll"]):
        assert (seen["voted"], seen["own_votes"]) == (False, [])
    assert (await bob.post(f"{path}/votes", {"choices[]": "2"})).json["own_votes"] == [2]
    assert (await edit(ada, status, "??"))["poll"] is None
    assert (await bob.get(path)).status == 404
    history = (await ada.get(f"/api/v1/statuses/{status['id']}/history")).json
    titles = [[option["title"] for option in one["poll"]["options"]] if "poll" in one else None for one in history]
    assert titles == [["yes", "no"], ["yes", "no"], ["yes", "no", "well"], None]


async def test_a_poll_that_comes_with_an_edit_ends_by_itself(stage: Stage, ada: Person) -> None:
    status = await ada.publish("?")
    edited = await edit(ada, status, "?", poll={"options": ["yes", "no"], "expires_in": 300})
    assert edited["poll"]["expired"] is False
    await edit(ada, status, "?", poll={"options": ["yes", "no"], "expires_in": 900})
    assert len(await stage.rows("SELECT FROM outbox WHERE kind = 'poll'")) == 1
    await edit(ada, status, "?")
    assert await stage.rows("SELECT FROM outbox WHERE kind = 'poll'") == []


async def test_media_come_go_and_are_described_by_an_edit(ada: Person) -> None:
    one, two = await uploaded(ada), await uploaded(ada)
    status = await attach(ada, one)
    edited = await edit(ada, status, "", media_ids=[two["id"], one["id"]])
    assert [medium["id"] for medium in edited["media_attachments"]] == [two["id"], one["id"]]
    attributes = [{"id": one["id"], "description": "noise", "focus": "0.5,-0.5"}]
    described = await edit(ada, status, "", media_ids=[one["id"]], media_attributes=attributes)
    (medium,) = described["media_attachments"]
    assert (medium["description"], medium["meta"]["focus"]) == ("noise", {"x": 0.5, "y": -0.5})
    history = (await ada.get(f"/api/v1/statuses/{status['id']}/history")).json
    assert [[medium["id"] for medium in state["media_attachments"]] for state in history] == [
        [one["id"]], [two["id"], one["id"]], [one["id"]],
    ]  # fmt: skip
    assert history[1]["media_attachments"][1]["description"] is None
    assert (await ada.get(f"/api/v1/media/{two['id']}")).status == 200
    assert await edit(ada, status, "", media_ids=[one["id"]], media_attributes=attributes) == described


@pytest.mark.parametrize("attributes", [[], "", [""], None, {}, "x"])
async def test_attributes_that_name_no_medium_change_none(ada: Person, attributes: object) -> None:
    medium = await uploaded(ada)
    status = await attach(ada, medium)
    edited = await edit(ada, status, "two", media_ids=[medium["id"]], media_attributes=attributes)
    assert (edited["content"], edited["media_attachments"]) == ("<p>two</p>", status["media_attachments"])


async def test_media_of_others_are_not_taken(ada: Person, bob: Person) -> None:
    status, others = await ada.publish("one"), await attach(bob, await uploaded(bob))
    id = others["media_attachments"][0]["id"]
    answer = await ada.send("PUT", f"/api/v1/statuses/{status['id']}", json={"status": "x", "media_ids": [id]})
    assert (answer.status, answer.json["error"]) == (422, f"Media {id} not found or already attached to another post")
    assert (await bob.get(f"/api/v1/statuses/{others['id']}")).json == others


async def test_a_delete_can_take_the_media_along(stage: Stage, ada: Person) -> None:
    status = await attach(ada, await uploaded(ada))
    id = status["media_attachments"][0]["id"]
    deleted = (await ada.delete(f"/api/v1/statuses/{status['id']}?delete_media=true")).json
    assert [medium["id"] for medium in deleted["media_attachments"]] == [id]
    assert (await ada.get(f"/api/v1/media/{id}")).status == 404
    await files_removed(stage)
    assert (await fetched(ada, status["media_attachments"][0]["url"])).status == 404

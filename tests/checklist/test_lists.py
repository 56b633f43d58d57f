"""The seed checklist's rows on lists."""

from typing import Any

import pytest

from ..clients import HOME, Person, Stage, ids, link
from .rows import rows

LISTS = "/api/v1/lists"
TIMELINE = "/api/v1/timelines/list"


async def make(owner: Person, title: str = "friends", *members: Person, **terms: Any) -> str:
    made = await owner.done("POST", LISTS, {"title": title, **terms})
    for member in members:
        await owner.post(f"/api/v1/accounts/{member.id}/follow")
    if members:
        added = await owner.post(f"{LISTS}/{made['id']}/accounts", json={"account_ids": [one.id for one in members]})
        assert (added.status, added.json) == (200, {}), added.text
    return made["id"]


@rows("S165", "S166")
async def test_a_list_is_made_read_changed_and_deleted(ada: Person) -> None:
    made = (await ada.post(LISTS, {"title": " Friends "})).json
    assert made == {
        "id": made["id"], "title": "Friends", "replies_policy": "list", "exclusive": False, "show_replies": True,
    }  # fmt: skip
    assert (await ada.get(f"{LISTS}/{made['id']}")).json == made
    changed = await ada.send("PUT", f"{LISTS}/{made['id']}", json={"title": "Foes", "exclusive": True})
    assert changed.json == made | {"title": "Foes", "exclusive": True}
    assert (await ada.get(LISTS)).json == [changed.json]
    assert (await ada.delete(f"{LISTS}/{made['id']}")).json == {}
    assert (await ada.get(f"{LISTS}/{made['id']}")).status == 404
    assert (await ada.get(f"{TIMELINE}/{made['id']}")).status == 404


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ({}, "Validation failed: Title can't be blank"),
        ({"title": " "}, "Validation failed: Title can't be blank"),
        ({"title": "x" * 257}, "Validation failed: Title is too long (maximum is 256 characters)"),
        ({"title": "x", "replies_policy": "some"}, "'some' is not a valid replies_policy"),
    ],
)
async def test_what_no_list_can_be(ada: Person, terms: dict[str, str], text: str) -> None:
    refused = await ada.post(LISTS, terms)
    assert (refused.status, refused.json) == (422, {"error": text})


@rows("S062", "S063")
async def test_show_replies_is_the_policy_in_other_words(ada: Person, bob: Person, stage: Stage) -> None:
    cleo = await stage.person("cleo")
    id = await make(ada, "friends", bob, cleo)
    root = await cleo.publish("root")
    answer = await bob.publish("@cleo answer", in_reply_to_id=root["id"])
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == [answer["id"], root["id"]]
    changed = await ada.send("PUT", f"{LISTS}/{id}", json={"show_replies": False})
    assert (changed.json["show_replies"], changed.json["replies_policy"]) == (False, "none")
    assert (await ada.get(f"{LISTS}/{id}")).json["show_replies"] is False
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == [root["id"]]
    again = await ada.send("PUT", f"{LISTS}/{id}", json={"show_replies": True})
    assert again.json["replies_policy"] == "list"
    both = await ada.send("PUT", f"{LISTS}/{id}", json={"show_replies": False, "replies_policy": "followed"})
    assert (both.json["replies_policy"], both.json["show_replies"]) == ("followed", True)
    assert (await ada.post(LISTS, {"title": "quiet", "show_replies": "false"})).json["replies_policy"] == "none"


@rows("S061", "S167", "S255")
async def test_fifty_lists_and_all_on_one_page(ada: Person, bob: Person) -> None:
    made = [await make(ada, f"list {number}") for number in range(50)]
    whole = await ada.get(f"{LISTS}?limit=2")
    assert [one["id"] for one in whole.json] == made
    assert "Link" not in whole.headers
    refused = await ada.post(LISTS, {"title": "one more"})
    assert (refused.status, refused.json["error"]) == (
        422, "Validation failed: You have reached the maximum number of lists",
    )  # fmt: skip
    await make(bob)
    await ada.delete(f"{LISTS}/{made[0]}")
    await make(ada)


@rows("S168")
async def test_members_come_and_go_and_the_timeline_follows(ada: Person, bob: Person, stage: Stage) -> None:
    cleo = await stage.person("cleo")
    before = await bob.publish("before")
    id = await make(ada, "friends", bob)
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == [before["id"]]
    refused = await ada.post(f"{LISTS}/{id}/accounts", json={"account_ids": [cleo.id]})
    assert (refused.status, refused.json["error"]) == (422, "Validation failed: Account must be a followed account")
    await ada.post(f"/api/v1/accounts/{cleo.id}/follow")
    doubled = await ada.post(f"{LISTS}/{id}/accounts", json={"account_ids": [cleo.id, bob.id]})
    assert (doubled.status, doubled.json["error"]) == (422, "Validation failed: Account is already on the list")
    assert [one["id"] for one in (await ada.get(f"{LISTS}/{id}/accounts")).json] == [bob.id]
    assert (await ada.post(f"{LISTS}/{id}/accounts", json={"account_ids": ["12345"]})).status == 404
    assert (await ada.post(f"{LISTS}/{id}/accounts")).status == 400
    await ada.post(f"{LISTS}/{id}/accounts", json={"account_ids": [cleo.id]})
    first = await ada.get(f"{LISTS}/{id}/accounts?limit=1")
    second = await ada.get(link(first, "next"))
    assert [one["id"] for one in [*first.json, *second.json]] == [cleo.id, bob.id]
    whole = await ada.get(f"{LISTS}/{id}/accounts?limit=0")
    assert (len(whole.json), "Link" in whole.headers) == (2, False)
    later = await cleo.publish("later")
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == [later["id"], before["id"]]
    await ada.delete(f"{LISTS}/{id}/accounts", json={"account_ids": [bob.id]})
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == [later["id"]]
    await ada.post(f"/api/v1/accounts/{cleo.id}/unfollow")
    assert (await ada.get(f"{LISTS}/{id}/accounts")).json == []
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == []


@rows("S060", "S194")
async def test_a_list_is_its_owners_alone(ada: Person, bob: Person) -> None:
    id = await make(ada)
    for method, path in (
        ("GET", f"{LISTS}/{id}"), ("PUT", f"{LISTS}/{id}"), ("DELETE", f"{LISTS}/{id}"), ("GET", f"{TIMELINE}/{id}"),
        ("GET", f"{LISTS}/{id}/accounts"), ("POST", f"{LISTS}/{id}/accounts?account_ids[]={bob.id}"),
        ("DELETE", f"{LISTS}/{id}/accounts?account_ids[]={bob.id}"),
    ):  # fmt: skip
        assert (await bob.send(method, path)).status == 404, (method, path)
    assert (await bob.get(LISTS)).json == []
    assert len((await ada.get(LISTS)).json) == 1


@rows("S128")
async def test_my_lists_that_hold_an_account(ada: Person, bob: Person) -> None:
    held = [await make(ada, "one", bob), await make(ada, "two", bob)]
    await make(ada, "three")
    await make(bob, "mine")
    assert [one["id"] for one in (await ada.get(f"/api/v1/accounts/{bob.id}/lists")).json] == held


@rows("S229", "S230")
async def test_lists_have_scopes(stage: Stage, ada: Person) -> None:
    id = await make(ada)
    reads = stage.anybody(await stage.token(ada.account, ("read:lists",)))
    writes = stage.anybody(await stage.token(ada.account, ("write:lists",)))
    assert (await reads.get(LISTS)).status == 200
    assert (await writes.get(LISTS)).status == 403
    for method, path in (("POST", LISTS), ("PUT", f"{LISTS}/{id}"), ("DELETE", f"{LISTS}/{id}")):
        assert (await reads.send(method, f"{path}?title=new")).status == 403
        assert (await writes.send(method, f"{path}?title=new")).status == 200


async def test_an_exclusive_list_keeps_its_members_out_of_home(ada: Person, bob: Person) -> None:
    status = await bob.publish("hello")
    id = await make(ada, "friends", bob)
    assert ids(await ada.get(HOME)) == [status["id"]]
    await ada.send("PUT", f"{LISTS}/{id}", json={"exclusive": True})
    assert ids(await ada.get(HOME)) == []
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == [status["id"]]
    await ada.delete(f"{LISTS}/{id}")
    assert ids(await ada.get(HOME)) == [status["id"]]


async def test_what_is_hidden_at_home_is_hidden_in_lists(ada: Person, bob: Person) -> None:
    id = await make(ada, "friends", bob)
    status = await bob.publish("hello", visibility="private")
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == [status["id"]]
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == []
    await ada.post(f"/api/v1/accounts/{bob.id}/unmute")
    assert ids(await ada.get(f"{TIMELINE}/{id}?limit=1")) == [status["id"]]
    await bob.delete(f"/api/v1/statuses/{status['id']}")
    assert ids(await ada.get(f"{TIMELINE}/{id}")) == []


@pytest.mark.parametrize("id", ["x", "-1", "1.5", str(2**63), "1"])
async def test_an_account_with_an_id_that_is_none_is_as_missing_as_an_unknown_one(
    ada: Person, bob: Person, id: str
) -> None:
    made = await make(ada, "friends", bob)
    for ids_given in ([id], [bob.id, id]):
        answer = await ada.send("POST", f"{LISTS}/{made}/accounts", json={"account_ids": ids_given})
        assert (answer.status, answer.json) == (404, {"error": "Record not found"})

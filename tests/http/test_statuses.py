"""Publish, show, delete, and the thread around a status."""

from typing import Any

import pytest

from ..clients import Person, Stage

STATUSES = "/api/v1/statuses"
NO_PARENT = "The post you are trying to reply to does not appear to exist."


@pytest.mark.parametrize(
    ("form", "status", "text"),
    [
        ({}, 422, "Validation failed: Text can't be blank"),
        ({"status": " \n"}, 422, "Validation failed: Text can't be blank"),
        ({"status": "\x01\ufeff", "spoiler_text": "\x02 "}, 422, "Validation failed: Text can't be blank"),
        ({"status": "x" * 501}, 422, "Validation failed: Text character limit of 500 exceeded"),
        (
            {"status": "x" * 250, "spoiler_text": "y" * 251},
            422,
            "Validation failed: Text character limit of 500 exceeded",
        ),
        ({"status": "x", "visibility": "secret"}, 422, "Validation failed: Visibility is not included in the list"),
        ({"status": "x", "in_reply_to_id": "x"}, 404, NO_PARENT),
        ({"status": "x", "in_reply_to_id": "-1"}, 404, NO_PARENT),
        ({"status": "x", "in_reply_to_id": "1.5"}, 404, NO_PARENT),
        ({"status": "x", "in_reply_to_id": str(2**63)}, 404, NO_PARENT),
        ({"status": "x", "in_reply_to_id": "1"}, 404, NO_PARENT),
        ({"status": "x", "media_ids[]": "7"}, 422, "Media 7 not found or already attached to another post"),
        ({"status": "x", "media_ids[]": "one"}, 422, "Media one not found or already attached to another post"),
        (
            {"status": "x", "media_ids[]": str(2**63)},
            422,
            f"Media {2**63} not found or already attached to another post",
        ),
    ],
)
async def test_what_can_be_no_status(ada: Person, form: dict[str, Any], status: int, text: str) -> None:
    answer = await ada.post(STATUSES, form)
    assert (answer.status, answer.json) == (status, {"error": text})


async def test_five_hundred_visible_characters_are_fine(ada: Person) -> None:
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    assert (await ada.post(STATUSES, {"status": family * 500})).status == 200
    assert (await ada.post(STATUSES, {"status": "x" * 476 + " https://example.org/" + "y" * 400})).status == 200


@pytest.mark.parametrize(
    ("text", "content_type"),
    [("<script>x</script>", "text/html"), ("<p> <br></p>", "text/html")],
)
async def test_what_has_nothing_to_read_is_no_status_and_no_edit(ada: Person, text: str, content_type: str) -> None:
    form = {"status": text, "spoiler_text": "careful", "content_type": content_type}
    earlier = await ada.publish("<b>hi</b>", content_type=content_type)
    for refused in (
        await ada.post(STATUSES, form),
        await ada.put(f"{STATUSES}/{earlier['id']}", {"status": text}),
    ):
        assert (refused.status, refused.json) == (422, {"error": "Validation failed: Text can't be blank"})


@pytest.mark.parametrize("text", ["---", "#", "+"])
async def test_signs_of_markdown_alone_are_a_text(ada: Person, text: str) -> None:
    assert (await ada.publish(text, content_type="text/markdown"))["content"] == f"<p>{text}</p>"


async def test_the_space_around_a_text_is_no_part_of_it(ada: Person) -> None:
    status = await ada.publish("\r\n " + "x" * 500 + " \n", spoiler_text=" \n")
    assert (status["content"], status["spoiler_text"], status["sensitive"]) == (f"<p>{'x' * 500}</p>", "", False)
    warned = await ada.publish(" ", spoiler_text=" careful\n")
    assert (warned["content"], warned["spoiler_text"], warned["sensitive"]) == ("<p>careful</p>", "", True)
    same = await ada.put(f"{STATUSES}/{status['id']}", {"status": "x" * 500 + "\n"})
    assert (same.status, same.json["edited_at"]) == (200, None)


async def test_every_kind_of_body_publishes(ada: Person) -> None:
    assert (await ada.send("POST", STATUSES, json={"status": "json", "sensitive": True})).json["sensitive"] is True
    assert (await ada.send("POST", STATUSES, query_string={"status": "query"})).json["content"] == "<p>query</p>"
    assert (await ada.post(STATUSES, {"status": "form", "sensitive": "0"})).json["sensitive"] is False


async def test_a_repeated_key_gives_the_same_status(ada: Person) -> None:
    key = {"Idempotency-Key": "once"}
    first = await ada.post(STATUSES, {"status": "hi"}, headers=key)
    again = await ada.post(STATUSES, {"status": "hi"}, headers=key)
    other = await ada.post(STATUSES, {"status": "hi"}, headers={"Idempotency-Key": "twice"})
    assert first.json["id"] == again.json["id"] != other.json["id"]


async def test_a_key_makes_a_new_status_once_its_status_is_deleted(ada: Person, bob: Person) -> None:
    key, form = {"Idempotency-Key": "once"}, {"status": "hi"}
    await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    made: list[str] = []
    for more in ({}, {"in_reply_to_id": (await bob.publish("root"))["id"]}, {"visibility": "direct"}, {"status": "ho"}):
        posted = await ada.post(STATUSES, form | more, headers=key)
        assert posted.status == 200, posted.text
        again = await ada.post(STATUSES, form | more, headers=key)
        assert (again.json["id"], again.json["id"] in made) == (posted.json["id"], False)
        made.append(posted.json["id"])
        edited = await ada.send("PUT", f"{STATUSES}/{made[-1]}", json={"status": "other"})
        assert (edited.status, (await ada.post(STATUSES, form, headers=key)).json["id"]) == (200, made[-1])
        assert (await ada.delete(f"{STATUSES}/{made[-1]}")).status == 200


async def test_a_key_whose_first_try_was_refused_is_free(ada: Person) -> None:
    key = {"Idempotency-Key": "once"}
    assert (await ada.post(STATUSES, {"status": ""}, headers=key)).status == 422
    assert (await ada.post(STATUSES, {"status": "hi"}, headers=key)).status == 200


async def test_a_key_names_its_status_also_when_other_rows_are_gone(ada: Person, bob: Person) -> None:
    parent = await bob.publish("root")
    key = {"Idempotency-Key": "once"}
    first = await ada.post(STATUSES, {"status": "hi", "in_reply_to_id": parent["id"]}, headers=key)
    other = await ada.post(STATUSES, {"status": "other", "visibility": "direct"}, headers=key)
    await bob.delete(f"{STATUSES}/{parent['id']}")
    again = await ada.post(STATUSES, {"status": "hi", "in_reply_to_id": parent["id"]}, headers=key)
    assert (again.status, again.json["id"], other.json["id"]) == (200, first.json["id"], first.json["id"])
    theirs = await bob.post(STATUSES, {"status": "hi"}, headers=key)
    assert theirs.json["id"] != first.json["id"]
    missing = await ada.post(STATUSES, {"status": "hi", "in_reply_to_id": parent["id"]})
    assert missing.status == 404


UNEXPECTED = "Post would be sent to unexpected accounts"


@pytest.mark.parametrize("allowed", [[], ["0"], ["x"], ["{eve}"], ["{bob}", "{eve}"]])
async def test_no_account_is_mentioned_by_accident(stage: Stage, ada: Person, bob: Person, allowed: list[str]) -> None:
    eve, tom = await stage.person("eve"), await stage.person("tom")
    ids = [one.format(bob=bob.id, eve=eve.id) for one in allowed]
    form = {"status": "@ada and @bob like @tom", "visibility": "direct", "allowed_mentions": ids}
    answer = await ada.send("POST", STATUSES, json=form)
    assert (answer.status, answer.json["error"]) == (422, UNEXPECTED)
    named = [account["acct"] for account in answer.json["unexpected_accounts"]]
    assert named == [name for name, id in (("bob", bob.id), ("tom", tom.id)) if id not in ids]
    assert await stage.rows("SELECT 1 FROM statuses") == []
    assert (await bob.get("/api/v1/notifications")).json == []
    assert (await ada.send("POST", STATUSES, json=form | {"allowed_mentions": [bob.id, tom.id]})).status == 200
    assert len((await bob.get("/api/v1/notifications")).json) == 1


async def test_a_form_allows_mentions_too_and_an_empty_element_allows_none(ada: Person, bob: Person) -> None:
    assert (await ada.post(STATUSES, {"status": "@bob", "allowed_mentions[]": ""})).status == 422
    assert (await ada.post(STATUSES, {"status": "@bob", "allowed_mentions[]": bob.id})).status == 200
    assert (await ada.post(STATUSES, {"status": "hi", "allowed_mentions[]": ""})).status == 200
    assert (await ada.send("POST", STATUSES, json={"status": "@bob", "allowed_mentions": None})).status == 200


async def test_a_repeated_key_gives_its_status_also_when_more_accounts_are_mentioned_by_now(
    stage: Stage, ada: Person
) -> None:
    post: dict[str, Any] = {"status": "@carol", "allowed_mentions": []}
    once = {"Idempotency-Key": "once"}
    first = await ada.post(STATUSES, json=post, headers=once)
    await stage.person("carol")
    assert (await ada.post(STATUSES, json=post, headers=once)).json["id"] == first.json["id"]


@pytest.mark.parametrize(
    ("visibility", "seen_by"),
    [
        ("public", {"author", "mentioned", "follower", "stranger", "anybody"}),
        ("unlisted", {"author", "mentioned", "follower", "stranger", "anybody"}),
        ("private", {"author", "mentioned", "follower"}),
        ("direct", {"author", "mentioned"}),
    ],
)
async def test_hidden_is_the_same_as_missing(stage: Stage, visibility: str, seen_by: set[str]) -> None:
    author, mentioned, follower, stranger = [await stage.person(name) for name in ("ada", "bob", "cyd", "dan")]
    await follower.post(f"/api/v1/accounts/{author.id}/follow")
    status = await author.publish("psst @bob", visibility=visibility)
    people = {
        "author": author, "mentioned": mentioned, "follower": follower, "stranger": stranger,
        "anybody": stage.anybody(),
    }  # fmt: skip
    for path in (f"{STATUSES}/{status['id']}", f"{STATUSES}/{status['id']}/context"):
        answers = {name: await client.get(path) for name, client in people.items()}
        assert {name for name, answer in answers.items() if answer.status == 200} == seen_by
        for answer in answers.values():
            assert answer.status == 200 or answer.json == {"error": "Record not found"}


async def test_the_blocked_see_nothing(ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    await ada.post(f"/api/v1/accounts/{bob.id}/block")
    assert (await bob.get(f"{STATUSES}/{status['id']}")).status == 404
    assert (await bob.get("/api/v1/timelines/public")).json == []


async def test_statuses_of_the_suspended_are_gone(stage: Stage, ada: Person) -> None:
    status = await ada.publish("hi")
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", ada.account.id)
    assert (await stage.anybody().get(f"{STATUSES}/{status['id']}")).status == 404
    assert (await stage.anybody().get(f"/api/v1/accounts/{ada.id}")).status == 410


async def test_several_at_once(stage: Stage, ada: Person) -> None:
    one, secret, two = [await ada.publish("hi", visibility=v) for v in ("public", "private", "public")]
    query = "&".join(f"id[]={id}" for id in (two["id"], "1", secret["id"], one["id"]))
    assert [s["id"] for s in (await stage.anybody().get(f"{STATUSES}?{query}")).json] == [two["id"], one["id"]]


async def test_only_the_author_deletes_and_only_once(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.publish("hi")
    path = f"{STATUSES}/{status['id']}"
    assert (await bob.delete(path)).status == 404
    assert (await ada.delete(path)).status == 200
    assert (await ada.delete(path)).status == 404
    assert (await stage.anybody().get(path)).status == 404
    assert (await ada.get("/api/v1/accounts/verify_credentials")).json["statuses_count"] == 0


async def test_a_thread_is_above_and_below(stage: Stage, ada: Person, bob: Person) -> None:
    root = await ada.publish("root")
    middle = await bob.publish("middle", in_reply_to_id=root["id"])
    leaf = await ada.publish("leaf", in_reply_to_id=middle["id"])
    hidden = await bob.publish("hidden", in_reply_to_id=middle["id"], visibility="private")
    answer = await stage.anybody().get(f"{STATUSES}/{middle['id']}/context")
    assert [s["id"] for s in answer.json["ancestors"]] == [root["id"]]
    assert [s["id"] for s in answer.json["descendants"]] == [leaf["id"]]
    own = (await bob.get(f"{STATUSES}/{root['id']}/context")).json
    assert [s["id"] for s in own["descendants"]] == [middle["id"], leaf["id"], hidden["id"]]
    assert "favourited" in own["descendants"][0]


async def test_strangers_see_forty_above(stage: Stage, ada: Person) -> None:
    parent: dict[str, Any] = {}
    for number in range(43):
        parent = await ada.publish(str(number), **({"in_reply_to_id": parent["id"]} if parent else {}))
    path = f"{STATUSES}/{parent['id']}/context"
    assert len((await stage.anybody().get(path)).json["ancestors"]) == 40
    assert len((await ada.get(path)).json["ancestors"]) == 42


async def test_the_muted_are_not_in_threads(ada: Person, bob: Person) -> None:
    root = await ada.publish("root")
    await bob.publish("noise", in_reply_to_id=root["id"])
    await ada.post(f"/api/v1/accounts/{bob.id}/mute")
    assert (await ada.get(f"{STATUSES}/{root['id']}/context")).json["descendants"] == []


async def test_who_wants_to_be_told_of_each_status_is(stage: Stage, ada: Person, bob: Person) -> None:
    cyd, dan = await stage.person("cyd"), await stage.person("dan")
    await bob.post(f"/api/v1/accounts/{ada.id}/follow", {"notify": "true"})
    await cyd.send("POST", f"/api/v1/accounts/{ada.id}/follow", json={"notify": True, "languages": ["de"]})
    await dan.post(f"/api/v1/accounts/{ada.id}/follow")
    root = await bob.publish("root")
    await ada.publish("a reply to others", in_reply_to_id=root["id"], language="en")
    await ada.publish("psst", visibility="direct")
    english = await ada.publish("hi", language="en")
    german = await ada.publish("servus", language="de", visibility="private")
    told = await stage.rows("SELECT account_id, status_id FROM notifications WHERE type = 'status' ORDER BY id")
    assert told == [[p.account.id, int(s["id"])] for p, s in ((bob, english), (bob, german), (cyd, german))]

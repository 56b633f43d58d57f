"""Statuses as documents: every part that other servers read."""

import re
from typing import Any

import pytest

from troupe.actors.activitypub.vocabulary import PUBLIC

from ...activitypub.documents_read import undeclared
from ...clients import BASE, Person, Stage
from ...emojis import add_emoji
from ..uploading import uploaded
from .peers import DOCUMENT, Peer, ask, document, peer

ADA, BOB = f"{BASE}/users/ada", f"{BASE}/users/bob"
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_a_note_has_all_that_others_require(stage: Stage, ada: Person) -> None:
    status = await ada.write("hello", language="de", spoiler_text="tea")
    note = await document(stage, status["uri"])
    assert note == note | {
        "id": status["uri"], "type": "Note", "attributedTo": ADA, "url": status["url"], "content": "<p>hello</p>",
        "contentMap": {"de": "<p>hello</p>"}, "summary": "tea", "sensitive": True, "inReplyTo": None, "tag": [],
        "attachment": [], "to": [PUBLIC], "cc": [f"{ADA}/followers"],
    }  # fmt: skip
    assert INSTANT.fullmatch(note["published"])
    assert not {"updated", "quote", "oneOf", "source"} & note.keys()
    assert undeclared(note) == set()


async def test_mentions_are_tagged_and_addressed(stage: Stage, ada: Person, bob: Person) -> None:
    una = await peer(stage)
    note = await document(stage, (await ada.write("@bob and @una@peer.example"))["uri"])
    assert {(tag["type"], tag["href"], tag["name"]) for tag in note["tag"]} == {
        ("Mention", BOB, "@bob@localhost:3000"), ("Mention", una.uri, "@una@peer.example"),
    }  # fmt: skip
    assert {BOB, una.uri} <= set(note["cc"])


async def test_hashtags_and_emoji_are_tagged(stage: Stage, ada: Person) -> None:
    await add_emoji(stage, "blob")
    note = await document(stage, (await ada.write("#Tea :blob:"))["uri"])
    hashtag, emoji = note["tag"]
    assert hashtag == {"type": "Hashtag", "href": f"{BASE}/tags/tea", "name": "#Tea"}
    assert (emoji["type"], emoji["name"], emoji["icon"]["type"]) == ("Emoji", ":blob:", "Image")
    assert INSTANT.fullmatch(emoji["updated"])


async def test_attachments_come_with_their_description_and_size(stage: Stage, ada: Person) -> None:
    medium = await uploaded(ada, description="a dot", focus="0.5,-0.5")
    note = await document(stage, (await ada.write("look", media_ids=[medium["id"]]))["uri"])
    (attachment,) = note["attachment"]
    assert (attachment["type"], attachment["url"]) == ("Document", medium["url"])
    assert (attachment["name"], attachment["summary"]) == ("a dot", "a dot")
    assert attachment["focalPoint"] == [0.5, -0.5]
    assert attachment["blurhash"] == medium["blurhash"]
    size = medium["meta"]["original"]
    assert (attachment["width"], attachment["height"]) == (size["width"], size["height"])
    served = await stage.anybody().get(attachment["url"].removeprefix(BASE))
    assert attachment["mediaType"] == served.headers["Content-Type"]


async def test_a_reply_names_its_parent(stage: Stage, ada: Person, bob: Person) -> None:
    parent = await ada.write("tea?")
    reply = await bob.write("@ada yes", in_reply_to_id=parent["id"])
    assert (await document(stage, reply["uri"]))["inReplyTo"] == parent["uri"]


async def test_an_edit_has_its_time(stage: Stage, ada: Person) -> None:
    status = await ada.write("teh")
    edited = await ada.send("PUT", f"/api/v1/statuses/{status['id']}", json={"status": "the"})
    note = await document(stage, status["uri"])
    assert (note["content"], note["updated"]) == ("<p>the</p>", edited.json["edited_at"])


async def test_a_poll_is_a_question(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.write("tea?", poll={"options": ["yes", "no"], "expires_in": 600})
    await bob.send("POST", f"/api/v1/polls/{status['poll']['id']}/votes", json={"choices": [0]})
    question = await document(stage, status["uri"])
    assert question["type"] == "Question"
    assert [(one["name"], one["replies"]["totalItems"]) for one in question["oneOf"]] == [("yes", 1), ("no", 0)]
    assert (question["votersCount"], question["endTime"]) == (1, status["poll"]["expires_at"])
    assert "closed" not in question
    several = await ada.write("what?", poll={"options": ["a", "b"], "expires_in": 600, "multiple": True})
    assert len((await document(stage, several["uri"]))["anyOf"]) == 2


async def test_a_quote_with_the_permission_of_its_author(stage: Stage, ada: Person, bob: Person) -> None:
    quoted = await ada.write("needle", quote_approval_policy="public")
    quoting = await bob.write("look", quoted_status_id=quoted["id"])
    note = await document(stage, quoting["uri"])
    assert note["quote"] == note["quoteUri"] == note["_misskey_quote"] == quoted["uri"]
    stamp = await document(stage, note["quoteAuthorization"])
    assert stamp == stamp | {
        "id": note["quoteAuthorization"], "type": "QuoteAuthorization", "attributedTo": ADA,
        "interactingObject": quoting["uri"], "interactionTarget": quoted["uri"],
    }  # fmt: skip
    assert undeclared(note) | undeclared(stamp) == set()
    await ada.post(f"/api/v1/statuses/{quoted['id']}/quotes/{quoting['id']}/revoke")
    assert (await ask(stage, note["quoteAuthorization"])).status == 404
    assert (await document(stage, quoting["uri"]))["quote"] == {"type": "Tombstone"}


async def test_a_quote_authorization_is_of_the_quoted_author_and_for_readers_of_both(
    stage: Stage, ada: Person, bob: Person
) -> None:
    quoted = await ada.write("needle", quote_approval_policy="public")
    private = await bob.write("look", quoted_status_id=quoted["id"], visibility="private")
    public = await bob.write("look", quoted_status_id=quoted["id"])
    assert (await ask(stage, f"/users/ada/quote_authorizations/{private['id']}")).status == 404
    assert (await ask(stage, f"/users/bob/quote_authorizations/{public['id']}")).status == 404
    assert (await ask(stage, f"/users/ada/quote_authorizations/{quoted['id']}")).status == 404
    fay = await peer(stage, "fay")
    await fay.follow(bob)
    assert (await fay.get(f"/users/ada/quote_authorizations/{private['id']}")).status == 200


async def test_who_may_quote_is_told(stage: Stage, ada: Person) -> None:
    anyone = await ada.write("a", quote_approval_policy="public")
    nobody = await ada.write("b", visibility="unlisted", quote_approval_policy="nobody")
    policies = [(await document(stage, one["uri"]))["interactionPolicy"]["canQuote"] for one in (anyone, nobody)]
    assert [one["automaticApproval"] for one in policies] == [[PUBLIC], [ADA]]


async def test_a_status_is_published_by_a_create_with_an_id_of_its_own(stage: Stage, ada: Person) -> None:
    status = await ada.write("hello")
    create = await document(stage, f"{status['uri']}/activity")
    assert (create["type"], create["actor"], create["id"]) == ("Create", ADA, f"{status['uri']}/activity")
    note = await document(stage, status["uri"])
    assert create["object"] == {name: value for name, value in note.items() if name != "@context"}
    assert (create["to"], create["cc"]) == (note["to"], note["cc"])
    assert undeclared(create) == set()


async def test_a_boost_is_an_announce(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.write("hello")
    boost = (await bob.post(f"/api/v1/statuses/{status['id']}/reblog")).json
    announce = await document(stage, boost["uri"])
    assert announce == announce | {
        "id": boost["uri"], "type": "Announce", "actor": BOB, "object": status["uri"], "to": [PUBLIC],
        "cc": [f"{BOB}/followers", ADA],
    }  # fmt: skip
    assert INSTANT.fullmatch(announce["published"])
    of_the_boost = await ask(stage, boost["uri"].removesuffix("/activity"))
    assert (of_the_boost.status, of_the_boost.headers["Location"]) == (302, status["uri"])


async def test_the_page_of_a_status_gives_its_document_too(stage: Stage, ada: Person) -> None:
    status = await ada.write("hello")
    assert (await document(stage, status["url"]))["id"] == status["uri"]


async def test_programs_ask_for_documents_by_path(stage: Stage, ada: Person) -> None:
    """Without a header, as on servers of Mastodon."""
    status = await ada.write("hello")
    for paths, id in (
        (("/users/ada", "/@ada", "/@ADA"), f"{BASE}/users/ada"),
        ((status["uri"].removeprefix(BASE), status["url"].removeprefix(BASE)), status["uri"]),
    ):
        for path in paths:
            reply = await stage.anybody().get(f"{path}.json", headers={"Accept": "text/html"})
            assert reply.headers["Content-Type"].startswith(DOCUMENT), path
            assert (reply.status, reply.json["id"]) == (200, id)


async def test_a_deleted_status_leaves_a_tombstone(stage: Stage, ada: Person) -> None:
    status, hidden = await ada.write("hello"), await ada.write("psst", visibility="private")
    for one in (status, hidden):
        await ada.delete(f"/api/v1/statuses/{one['id']}")
    for uri in (status["uri"], f"{status['uri']}/activity", f"{status['uri']}/replies", f"{status['uri']}/likes"):
        reply = await ask(stage, uri)
        assert (reply.status, reply.json["type"], reply.json["id"]) == (410, "Tombstone", uri)
    assert (await ask(stage, hidden["uri"])).status == 404


@pytest.fixture
async def una(stage: Stage) -> Peer:
    return await peer(stage)


VISIBILITIES = ("public", "unlisted", "private", "direct")


async def seen_by(reader: Peer | Stage, statuses: dict[str, Any], part: str = "") -> list[str]:
    """The visibilities of the statuses that a reader gets. All others must be missing."""
    found: list[str] = []
    for visibility, status in statuses.items():
        path = status["uri"].removeprefix(BASE) + part
        reply = await (ask(reader, path) if isinstance(reader, Stage) else reader.get(path))
        assert reply.status in (200, 404), reply.text
        if reply.status == 200:
            found.append(visibility)
            shared = visibility in ("public", "unlisted") and isinstance(reader, Stage)
            assert reply.headers["Cache-Control"] == ("public, max-age=60" if shared else "private, no-store")
            assert reply.headers["Vary"] == "Accept, Signature"
    return found


@pytest.fixture
async def written(ada: Person, una: Peer) -> dict[str, Any]:
    return {one: await ada.write("@una@peer.example" if one == "direct" else one, visibility=one)
            for one in VISIBILITIES}  # fmt: skip


@pytest.mark.parametrize("part", ["", ".json", "/activity", "/replies", "/likes", "/shares"])
async def test_each_reads_what_is_theirs_to_read(
    stage: Stage, ada: Person, una: Peer, written: dict[str, Any], part: str
) -> None:
    follower, stranger = await peer(stage, "fay"), await peer(stage, "sue", known=False)
    blocked, other = await peer(stage, "ben"), await peer(stage, "oda", "blocked.example")
    for one in (follower, blocked, other):
        await one.follow(ada)
    await blocked.be_blocked_by(ada)
    await ada.post("/api/v1/domain_blocks", {"domain": "blocked.example"})
    assert await seen_by(stage, written, part) == ["public", "unlisted"]
    assert await seen_by(stranger, written, part) == ["public", "unlisted"]
    assert await seen_by(una, written, part) == ["public", "unlisted", "direct"]
    assert await seen_by(follower, written, part) == ["public", "unlisted", "private"]
    assert await seen_by(blocked, written, part) == []
    assert await seen_by(other, written, part) == []


async def test_a_status_is_found_below_its_author_alone(stage: Stage, ada: Person, bob: Person) -> None:
    status = await ada.write("hello")
    assert (await ask(stage, f"/users/bob/statuses/{status['id']}")).status == 404
    assert (await ask(stage, f"/users/ada/statuses/{int(status['id']) + 1}")).status == 404


async def test_nothing_is_read_of_a_suspended_author(stage: Stage, ada: Person, una: Peer) -> None:
    status = await ada.write("hello")
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE username = 'ada'")
    assert (await una.get(f"/users/ada/statuses/{status['id']}")).status == 404

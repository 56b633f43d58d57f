"""What other servers deliver takes effect here, once their signatures hold."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, deliver, take
from .peer import ForeignServer


def follow(eve: dict[str, Any], who: str, number: int = 1) -> dict[str, Any]:
    return {
        "id": f"{eve['id']}#follows/{number}",
        "type": "Follow",
        "actor": eve["id"],
        "object": f"{HOME}/users/{who}",
    }


def note(eve: dict[str, Any], number: int = 1, **changes: Any) -> dict[str, Any]:
    document = {
        "id": f"{eve['id']}/statuses/{number}", "type": "Note", "attributedTo": eve["id"], "to": [PUBLIC],
        "cc": [eve["followers"]], "published": datetime.now(UTC).isoformat(), "content": f"<p>hello {number}</p>",
    } | changes  # fmt: skip
    return {key: value for key, value in document.items() if value is not None}


def create(eve: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"{document['id']}/activity", "type": "Create", "actor": eve["id"], "object": document}


async def followed(person: Person, peer: ForeignServer, username: str = "eve") -> str:
    """Have a person follow an account of the foreign server. Return the account's id."""
    found = await person.get("/api/v2/search", query_string={"q": f"@{username}@{peer.domain}", "resolve": "true"})
    (account,) = found.json["accounts"]
    assert (await person.post(f"/api/v1/accounts/{account['id']}/follow")).status == 200
    return account["id"]


async def test_a_follow_takes_effect(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, follow(eve, "ada"))
    (follower,) = (await ada.get(f"/api/v1/accounts/{ada.id}/followers")).json
    assert follower["uri"] == eve["id"]
    (told,) = (await ada.get("/api/v1/notifications")).json
    assert (told["type"], told["account"]["uri"]) == ("follow", eve["id"])
    assert await stage.rows("SELECT uri, from_domain FROM follows") == [[f"{eve['id']}#follows/1", peer.domain]]


async def test_a_post_of_a_followed_author_is_at_home(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    await take(stage, {"id": f"{eve['id']}#accepts/1", "type": "Accept", "actor": eve["id"], "object": asked})
    await take(stage, create(eve, note(eve)))
    (shown,) = (await ada.get("/api/v1/timelines/home")).json
    assert (shown["content"], shown["account"]["uri"]) == ("<p>hello 1</p>", eve["id"])


async def test_a_post_that_concerns_nobody_is_not_kept(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, create(eve, note(eve)))
    assert await stage.rows("SELECT id FROM statuses") == []


async def test_an_unsigned_delivery_is_refused(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    assert (await deliver(stage, follow(eve, "ada"), headers={"Signature": None})).status == 401
    assert await stage.rows("SELECT id FROM outbox WHERE queue = 'inbox'") == []


async def test_repeats_change_nothing(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for _ in range(2):
        await take(stage, follow(eve, "ada"))
    await take(stage, follow(eve, "ada", 2))
    assert await stage.rows("SELECT uri FROM follows") == [[f"{eve['id']}#follows/2"]]
    assert len((await ada.get("/api/v1/notifications")).json) == 1


async def test_an_undone_follow_ends(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    asked = follow(eve, "ada")
    for number, named in enumerate((asked, asked["id"], [asked])):
        await take(stage, asked)
        assert len(await stage.rows("SELECT id FROM follows")) == 1
        await take(stage, {"id": f"{eve['id']}#undo/{number}", "type": "Undo", "actor": eve["id"], "object": named})
        assert await stage.rows("SELECT id FROM follows") == []


async def test_a_follow_that_was_undone_before_it_came_is_not_made(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    await take(stage, {"id": f"{eve['id']}#undo", "type": "Undo", "actor": eve["id"], "object": follow(eve, "ada")})
    await take(stage, follow(eve, "ada"))
    assert await stage.rows("SELECT id FROM follows") == []
    await take(stage, follow(eve, "ada", 2))
    assert len(await stage.rows("SELECT id FROM follows")) == 1


async def test_an_accepted_request_is_a_follow_by_every_shape(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    for number, named in enumerate((asked, f"{HOME}/users/ada#follows/7", [asked])):
        await take(stage, {"id": f"{eve['id']}#no/{number}", "type": "Reject", "actor": eve["id"], "object": named})
        assert await stage.rows("SELECT id FROM follow_requests UNION SELECT id FROM follows") == []
        await followed(ada, peer)
        await take(stage, {"id": f"{eve['id']}#yes/{number}", "type": "Accept", "actor": eve["id"], "object": named})
        assert len(await stage.rows("SELECT id FROM follows")) == 1


async def test_an_acceptance_that_nobody_asked_for_opens_nothing(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """CVE class 29."""
    eve, mallory = peer.person("eve"), peer.person("mallory")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    for number, named in enumerate((asked, asked | {"object": mallory["id"]})):
        yes = {"id": f"{mallory['id']}#yes/{number}", "type": "Accept", "actor": mallory["id"], "object": named}
        await take(stage, yes)
    assert await stage.rows("SELECT id FROM follows") == []


async def test_likes_boosts_and_their_end(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    status = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json
    uri = status["uri"]
    like = {"id": f"{eve['id']}#likes/1", "type": "Like", "actor": eve["id"], "object": uri, "content": "🎉"}
    boost = {
        "id": f"{eve['id']}#boosts/1", "type": "Announce", "actor": eve["id"], "object": [uri],
        "to": ["as:Public"], "cc": [eve["followers"]],
    }  # fmt: skip
    await take(stage, like)
    await take(stage, boost)
    shown = (await ada.get(f"/api/v1/statuses/{status['id']}")).json
    assert (shown["favourites_count"], shown["reblogs_count"]) == (1, 1)
    assert {one["type"] for one in (await ada.get("/api/v1/notifications")).json} == {"favourite", "reblog"}
    await take(stage, {"id": f"{eve['id']}#undo/1", "type": "Undo", "actor": eve["id"], "object": like})
    await take(stage, {"id": f"{eve['id']}#undo/2", "type": "Undo", "actor": eve["id"], "object": boost["id"]})
    shown = (await ada.get(f"/api/v1/statuses/{status['id']}")).json
    assert (shown["favourites_count"], shown["reblogs_count"]) == (0, 0)


async def test_a_block_ends_both_follows(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, follow(eve, "ada"))
    block = {"id": f"{eve['id']}#blocks/1", "type": "Block", "actor": eve["id"], "object": f"{HOME}/users/ada"}
    await take(stage, block)
    assert await stage.rows("SELECT id FROM follows") == []
    assert await stage.rows("SELECT uri FROM blocks") == [[block["id"]]]
    await take(stage, {"id": f"{eve['id']}#undo/1", "type": "Undo", "actor": eve["id"], "object": block["id"]})
    assert await stage.rows("SELECT uri FROM blocks") == []


async def test_a_mention_is_told_and_a_deletion_takes_it_away(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    tag = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
    post = note(eve, to=f"{HOME}/users/ada", cc=None, tag=tag, contentMap={"de": "<p>hello 1</p>"})
    await take(stage, create(eve, post))
    (told,) = (await ada.get("/api/v1/notifications")).json
    assert (told["type"], told["status"]["visibility"], told["status"]["language"]) == ("mention", "direct", "de")
    await take(stage, {"id": f"{eve['id']}#del", "type": "Delete", "actor": eve["id"], "object": post["id"]})
    assert (await ada.get("/api/v1/notifications")).json == []
    await take(stage, create(eve, post) | {"id": f"{eve['id']}#again"})
    assert await stage.rows("SELECT id FROM statuses WHERE deleted_at IS NULL") == []


async def test_an_edit_changes_a_post(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    tag = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada"}
    post = note(eve, cc=[f"{HOME}/users/ada"], tag=[tag], published="2026-01-01T00:00:00Z")
    await take(stage, create(eve, post))
    later = post | {"content": "<p>better<script>x</script></p>", "updated": "2026-01-02T00:00:00Z", "summary": "cw"}
    await take(stage, {"id": f"{eve['id']}#edit", "type": "Update", "actor": eve["id"], "object": later})
    (row,) = await stage.rows("SELECT id, content, spoiler_text, edited_at::text FROM statuses")
    assert row[1:] == ["<p>better</p>", "cw", "2026-01-02 00:00:00+00"]
    older = post | {"content": "<p>worse</p>", "updated": "2026-01-01T12:00:00Z"}
    await take(stage, {"id": f"{eve['id']}#edit", "type": "Update", "actor": eve["id"], "object": older})
    assert (await ada.get(f"/api/v1/statuses/{row[0]}")).json["content"] == "<p>better</p>"
    assert len((await ada.get(f"/api/v1/statuses/{row[0]}/history")).json) == 2


async def test_a_vote_counts_once(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    poll = {"options": ["tea", "coffee"], "expires_in": 600}
    status = (await ada.post("/api/v1/statuses", json={"status": "which?", "poll": poll})).json
    for number, option in enumerate(("tea", "coffee", "tea", "milk")):
        vote = {
            "id": f"{eve['id']}#votes/{number}", "type": "Note", "attributedTo": eve["id"], "name": option,
            "to": [f"{HOME}/users/ada"], "inReplyTo": status["uri"],
        }  # fmt: skip
        await take(stage, {"id": f"{vote['id']}/activity", "type": "Create", "actor": eve["id"], "object": vote})
    shown = (await ada.get(f"/api/v1/polls/{status['poll']['id']}")).json
    assert ([one["votes_count"] for one in shown["options"]], shown["voters_count"]) == ([1, 0], 1)
    assert len(await stage.rows("SELECT id FROM statuses")) == 1


async def test_a_reply_waits_for_its_unknown_parent(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await followed(ada, peer)
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    await take(stage, {"id": f"{eve['id']}#accepts/1", "type": "Accept", "actor": eve["id"], "object": asked})
    first = note(eve, 1)
    await take(stage, create(eve, note(eve, 2, inReplyTo=first["id"])))
    await take(stage, create(eve, note(eve, 3, inReplyTo=first["id"])))
    assert (await ada.get("/api/v1/timelines/home")).json == []
    assert (await ada.get("/api/v1/timelines/public?remote=true")).json == []
    await take(stage, create(eve, first))
    (parent,) = await stage.rows("SELECT id FROM statuses WHERE uri = $1", first["id"])
    thread = (await ada.get(f"/api/v1/statuses/{parent[0]}/context")).json
    assert [one["content"] for one in thread["descendants"]] == ["<p>hello 2</p>", "<p>hello 3</p>"]
    assert (await ada.get(f"/api/v1/statuses/{parent[0]}")).json["replies_count"] == 2
    assert len(await stage.rows("SELECT DISTINCT conversation_id FROM statuses")) == 1

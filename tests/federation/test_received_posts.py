"""What is stored of posts of other servers: made safe, cut, and in all the shapes that servers write."""

from __future__ import annotations

from typing import Any

import pytest

from troupe.actors.activitypub.notes import blurhash_of
from troupe.storage.engine.json_values import is_list, is_object

from ..checklist.rows import rows
from ..clients import Person, Stage
from ..http.uploading import picture
from ..waiting import until_none
from .delivering import HOME, PUBLIC, act, create, note, take
from .finding import until_done
from .peer import ForeignServer

HASH = "LEHV6nWB2yk8pyo0adR*.7kCMdnj"


async def stored(stage: Stage, ada: Person, peer: ForeignServer, **changes: Any) -> dict[str, Any]:
    """Deliver a post that names ada, and return it as she sees it."""
    eve = peer.person("eve")
    tag = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
    tags = changes.pop("tag", [])
    changes = {"cc": [f"{HOME}/users/ada"], "tag": [tag, *tags]} | changes
    await take(stage, create(eve, note(eve, **changes)))
    (row,) = await stage.rows("SELECT id FROM statuses")
    return (await ada.get(f"/api/v1/statuses/{row[0]}")).json


async def test_content_is_made_safe(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    content = '<p onclick="x()">a<script>b</script><a href="javascript:c()">d</a><img src="https://e.test/f"></p>'
    shown = await stored(stage, ada, peer, content=content)
    assert shown["content"] == "<p>ad</p>"


async def test_all_of_a_post_is_kept(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    picture = {
        "type": "Document", "mediaType": "image/png", "url": peer.url("/a.png"), "name": "a name", "summary": "a cat",
        "blurhash": HASH, "focalPoint": [0.5, -7], "width": 30, "height": 20,
    }  # fmt: skip
    tags = [
        {"type": "Hashtag", "name": "#Tea", "href": peer.url("/tags/tea")},
        {"type": "Emoji", "name": ":blob:", "icon": {"type": "Image", "url": peer.url("/blob.png")}},
    ]
    shown = await stored(
        stage, ada, peer, content=None, contentMap={"de": "<p>Tee</p>"}, summary="hot", attachment=picture, tag=tags,
        url=peer.url("/@eve/1"),
    )  # fmt: skip
    assert (shown["content"], shown["language"], shown["spoiler_text"]) == ("<p>Tee</p>", "de", "hot")
    assert (shown["sensitive"], shown["url"]) == (True, peer.url("/@eve/1"))
    assert [one["name"] for one in shown["tags"]] == ["tea"]
    assert [one["acct"] for one in shown["mentions"]] == ["ada"]
    (media,) = shown["media_attachments"]
    assert (media["type"], media["description"], media["blurhash"]) == ("image", "a cat", HASH)
    assert (media["remote_url"], media["meta"]["focus"]) == (peer.url("/a.png"), {"x": 0.5, "y": -1.0})
    assert media["meta"]["original"]["width"] == 30
    rows = await stage.rows("SELECT shortcode, domain, remote_url FROM custom_emojis")
    assert rows == [["blob", peer.domain, peer.url("/blob.png")]]


async def test_hashtags_of_other_servers_are_folded_as_our_own(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    tags = [{"type": "Hashtag", "name": name} for name in ("#\u0130stanbul", "#I\u0307stanbul", "#CATALA\u0300")]
    shown = await stored(stage, ada, peer, content="hi", tag=tags)
    own = await ada.publish("#istanbul #Catal\u00e0")
    assert {one["name"] for one in shown["tags"]} == {one["name"] for one in own["tags"]} == {"istanbul", "catala"}


async def test_what_is_too_much_is_cut(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    pictures = [{"type": "Image", "url": peer.url(f"/{number}.png")} for number in range(9)]
    tags = [{"type": "Hashtag", "name": f"#t{number}"} for number in range(200)]
    shown = await stored(
        stage, ada, peer, content="<p>" + "x" * 500_000, summary="y" * 50_000, attachment=pictures, tag=tags,
        url="https://elsewhere.test/",
    )  # fmt: skip
    assert len(shown["content"]) < 200_000
    assert len(shown["spoiler_text"]) == 16_384
    assert (len(shown["media_attachments"]), len(shown["tags"]), shown["url"]) == (9, 50, shown["uri"])


@pytest.mark.parametrize(
    ("to", "cc", "visibility"),
    [
        (PUBLIC, [], "public"),
        ("as:Public", "FOLLOWERS", "public"),
        (["FOLLOWERS"], ["Public"], "unlisted"),
        ([], "as:Public", "unlisted"),
        ("FOLLOWERS", [], "private"),
        ([], ["FOLLOWERS"], "private"),
        ([], [], "direct"),
        (None, None, "direct"),
        ({"id": "FOLLOWERS"}, None, "private"),
        ("https://peer.test/users/other/followers", [], "direct"),
    ],
)
async def test_the_addresses_say_who_may_see_it(
    stage: Stage, ada: Person, peer: ForeignServer, to: Any, cc: Any, visibility: str
) -> None:
    def addressed(one: Any) -> Any:
        if is_list(one):
            return [addressed(each) for each in one]
        if is_object(one):
            return {"id": addressed(one["id"])}
        return peer.url("/users/eve/followers") if one == "FOLLOWERS" else one

    both = [addressed(cc)] if isinstance(cc, str) else list(map(addressed, cc or []))
    shown = await stored(stage, ada, peer, to=addressed(to), cc=[*both, f"{HOME}/users/ada"])
    assert shown["visibility"] == visibility


async def test_an_article_is_its_title_and_a_link(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    page = peer.url("/blog/1")
    shown = await stored(stage, ada, peer, type="Article", name="On <tea>", content="<p>very long</p>", url=page)
    assert shown["content"].startswith("<p>On &lt;tea&gt;</p>")
    assert f'href="{page}"' in shown["content"]


async def test_a_poll_has_the_counts_that_are_told(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")

    def choice(name: str, votes: int) -> dict[str, Any]:
        return {"type": "Note", "name": name, "replies": {"type": "Collection", "totalItems": votes}}

    options = [choice("tea", 3), choice("coffee", 4)]
    poll: dict[str, Any] = {"type": "Question", "oneOf": options, "endTime": "2099-01-01T00:00:00Z", "votersCount": 7}
    shown = await stored(stage, ada, peer, **poll)
    assert [one["votes_count"] for one in shown["poll"]["options"]] == [3, 4]
    assert (shown["poll"]["voters_count"], shown["poll"]["multiple"]) == (7, False)
    poll["oneOf"], poll["votersCount"] = [choice("tea", 30), options[1]], 34
    told = note(eve, cc=[f"{HOME}/users/ada"], **poll)
    await take(stage, act(eve, "Update", told))
    shown = (await ada.get(f"/api/v1/statuses/{shown['id']}")).json
    assert ([one["votes_count"] for one in shown["poll"]["options"]], shown["edited_at"]) == ([30, 4], None)
    closed = told | {"oneOf": [choice("tea", 31), options[1]], "closed": "2026-01-01T00:00:00Z"}
    await take(stage, act(eve, "Update", closed, 2))
    assert await stage.rows("SELECT closed_at IS NOT NULL, voters_count FROM polls") == [[True, 34]]
    other = told | {"oneOf": [choice("milk", 1)], "votersCount": 1, "updated": "2098-01-01T00:00:00Z"}
    await take(stage, act(eve, "Update", other, 3))
    shown = (await ada.get(f"/api/v1/statuses/{shown['id']}")).json
    assert [(one["title"], one["votes_count"]) for one in shown["poll"]["options"]] == [("milk", 1)]


@pytest.mark.parametrize("ends", ["9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"])
async def test_a_poll_whose_end_can_not_be_meant_has_none(
    stage: Stage, ada: Person, peer: ForeignServer, ends: str
) -> None:
    """PostgreSQL's driver takes these for infinities, which no timeline could show."""
    shown = await stored(stage, ada, peer, type="Question", oneOf=[{"type": "Note", "name": "tea"}], endTime=ends)
    assert (shown["poll"]["expires_at"], shown["poll"]["expired"]) == (None, False)


async def test_a_poll_that_is_looked_at_has_the_counts_of_its_server(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """Takahē tells no other server of votes."""
    eve = peer.person("eve")

    def choice(name: str, votes: int) -> dict[str, Any]:
        return {"type": "Note", "name": name, "replies": {"type": "Collection", "totalItems": votes}}

    def poll(*votes: int) -> dict[str, Any]:
        options = [choice(name, count) for name, count in zip(("x", "y"), votes, strict=True)]
        return {"type": "Question", "oneOf": options, "endTime": "2099-01-01T00:00:00.654Z", "votersCount": sum(votes)}

    shown = await stored(stage, ada, peer, **poll(0, 0))
    told = note(eve, cc=[f"{HOME}/users/ada"], **poll(1, 2))
    peer.serve(told["id"], told)
    path = f"/api/v1/polls/{shown['poll']['id']}"
    assert (await stage.anybody().get(path)).json["votes_count"] == 0
    assert peer.asked(told["id"]) == [], "for whoever passes by, nothing is fetched"
    for _ in range(2):
        assert (await ada.get(path)).status == 200
        await until_done(stage)
    counted = (await ada.get(path)).json
    assert [one["votes_count"] for one in counted["options"]] == [1, 2]
    assert (counted["voters_count"], len(peer.asked(told["id"]))) == (3, 1)


async def test_those_who_are_addressed_alone_are_not_told(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    await take(stage, create(eve, note(eve, to=[f"{HOME}/users/ada"], cc=None)))
    assert (await ada.get("/api/v1/notifications")).json == []
    (row,) = await stage.rows("SELECT id FROM statuses")
    assert (await ada.get(f"/api/v1/statuses/{row[0]}")).json["mentions"] == []


@pytest.mark.parametrize(
    ("value", "holds"),
    [(HASH, True), (HASH[:-1], False), ("", False), (None, False), (7, False), ("~" * 28, False), ("é" * 28, False)],
)
def test_a_blurhash_is_checked(value: object, *, holds: bool) -> None:
    assert (blurhash_of(value) is not None) == holds


async def test_apps_can_read_all_addresses_of_a_post(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    file = {"type": "Document", "mediaType": "image/png", "url": peer.url("/a b \u00fc.png")}
    shown = await stored(stage, ada, peer, url=peer.url("/@eve/\u30bf\u30b0"), attachment=file)
    assert shown["url"] == peer.url("/@eve/%E3%82%BF%E3%82%B0")
    assert shown["media_attachments"][0]["remote_url"] == peer.url("/a%20b%20%C3%BC.png")
    await stage.sql("UPDATE accounts SET url = $1 WHERE username = 'eve'", peer.url("/@\u00e9ve"))
    assert (await ada.get(f"/api/v1/statuses/{shown['id']}")).json["account"]["url"] == peer.url("/@%C3%A9ve")


@rows("S102")
async def test_a_deletion_there_removes_the_media_here(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    url = peer.serve(peer.url("/a.png"), picture(), "image/png")
    shown = await stored(stage, ada, peer, attachment={"type": "Document", "mediaType": "image/png", "url": url})
    address = shown["media_attachments"][0]["url"].removeprefix(HOME)
    assert (await stage.anybody().get(address)).status == 200
    ((name,),) = await stage.rows("SELECT file FROM remote_files")
    await take(stage, act(peer.person("eve"), "Delete", {"type": "Tombstone", "id": shown["uri"]}))
    assert (await ada.get(f"/api/v1/statuses/{shown['id']}")).status == 404
    assert (await stage.anybody().get(address)).status == 404
    for table in ("media_attachments", "remote_files"):
        assert await stage.rows(f"SELECT FROM {table}") == []
    await until_none(lambda: stage.rows("SELECT FROM outbox WHERE kind = 'files'"))
    assert stage.http_context.media.folder.store.size(name) is None

"""What twelve kinds of servers send, each read as its authors meant it.

The documents in `servers/` are written after the documentation and the sources of each software, with all the
properties that it sends, also those that mean nothing here.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from troupe.actors.activitypub.keys import public_pem

from ..clients import Person, Stage
from ..signing import private_key
from .delivering import HOME, take
from .finding import search, until_done
from .peer import ForeignServer

PLACEHOLDER = re.compile(r"\b(?:PEERHOST|PEER|HOME|PEM|NOW|TOMORROW|POST|CONTEXT)\b")
SERVERS = Path(__file__).with_name("servers")


class Guest:
    """A server of one kind, that has an account and sends things to ada."""

    def __init__(self, stage: Stage, ada: Person, peer: ForeignServer, kind: str, post: str) -> None:
        self.stage = stage
        self.ada = ada
        self.peer = peer
        now = datetime.now(UTC)
        values = {
            "PEERHOST": peer.domain, "PEER": peer.url(""), "HOME": HOME, "PEM": public_pem(private_key()),
            "NOW": now.isoformat(), "TOMORROW": (now + timedelta(days=1)).isoformat(), "POST": post,
            "CONTEXT": f"{post}#context",
        }  # fmt: skip
        text = (SERVERS / f"{kind}.json").read_text()
        documents = json.loads(PLACEHOLDER.sub(lambda found: json.dumps(values[found[0]])[1:-1], text))
        self.actors = {actor["preferredUsername"]: actor for actor in documents["actors"]}
        self.activities = documents["activities"]
        for actor in self.actors.values():
            self._serve_actor(actor)
        for document in documents.get("documents", []):
            peer.serve(document["id"], document)

    def _serve_actor(self, actor: dict[str, Any]) -> None:
        key = actor["publicKey"]
        page = str(key["id"]).partition("#")[0]
        self.peer.serve(page, actor if page.rstrip("/") == actor["id"] else {"@context": actor["@context"], **key})
        self.peer.serve(actor["id"], actor)
        self.peer.handle(actor["preferredUsername"], None, actor["id"])
        for part in ("outbox", "followers", "following", "featured"):
            if part in actor:
                self.peer.collection(actor[part], [], 0)

    async def find(self, username: str) -> dict[str, Any]:
        """Find one of its accounts, as a person does."""
        (found,) = await search(self.ada, f"@{username}@{self.peer.domain}")
        await until_done(self.stage)
        return (await self.ada.get(f"/api/v1/accounts/{found['id']}")).json

    async def send(self, name: str) -> None:
        """Deliver one of its activities, signed by its actor."""
        activity = self.activities[name]
        key_id = next(one["publicKey"]["id"] for one in self.actors.values() if one["id"] == activity["actor"])
        await take(self.stage, activity, key_id=key_id)

    async def post(self, name: str) -> dict[str, Any]:
        """Deliver a post, and return it as ada sees it."""
        uri = self.activities[name]["object"]["id"]
        await self.send(name)
        return await self.shown(uri)

    async def shown(self, uri: str) -> dict[str, Any]:
        """Return a post that is stored, as ada sees it."""
        await until_done(self.stage)
        ((id,),) = await self.stage.rows("SELECT id FROM statuses WHERE uri = $1", uri)
        return (await self.ada.get(f"/api/v1/statuses/{id}")).json

    async def follow(self, username: str) -> None:
        """Have ada follow one of its accounts, and that accept it."""
        account = await self.find(username)
        await self.ada.done("POST", f"/api/v1/accounts/{account['id']}/follow")
        actor = self.actors[username]
        follow = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": actor["id"]}
        accept = {"id": f"{actor['id']}#accept/1", "type": "Accept", "actor": actor["id"], "object": follow}
        await take(self.stage, accept, key_id=actor["publicKey"]["id"])

    async def notifications(self) -> list[tuple[str, str]]:
        """Return the types and the accounts of ada's notifications, the oldest first."""
        found = await self.ada.get("/api/v1/notifications")
        return [(one["type"], one["account"]["username"]) for one in reversed(found.json)]


@pytest.fixture
async def own_post(ada: Person) -> dict[str, Any]:
    return await ada.publish("a post of ada")


@pytest.fixture
def guest(stage: Stage, ada: Person, peer: ForeignServer, own_post: dict[str, Any]) -> Callable[[str], Guest]:
    def arrive(kind: str) -> Guest:
        return Guest(stage, ada, peer, kind, own_post["uri"])

    return arrive


def files(post: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Return the type, the end of the address and the description of each file."""
    return [
        (one["type"], one["remote_url"].rpartition("/")[2], one["description"]) for one in post["media_attachments"]
    ]


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["name"] for one in found]


Arrive = Callable[[str], Guest]


async def test_mastodon(guest: Arrive) -> None:
    server = guest("mastodon")
    account = await server.find("mara")
    assert (account["display_name"], account["locked"], account["bot"]) == ("Mara :blobfox:", False, False)
    assert [one["shortcode"] for one in account["emojis"]] == ["blobfox"]
    assert [(one["name"], one["value"]) for one in account["fields"]] == [("Hives", "12")]
    post = await server.post("post")
    assert (post["spoiler_text"], post["sensitive"], post["language"], post["visibility"]) == (
        "bees",
        True,
        "en",
        "public",
    )
    assert "look, a swarm!" in post["content"]
    assert names(post["tags"]) == ["bees"]
    assert files(post) == [("image", "swarm.jpg", "bees on a branch")]
    assert post["media_attachments"][0]["meta"]["focus"] == {"x": 0.1, "y": -0.5}
    assert post["quote_approval"]["automatic"] == ["public"]
    assert await server.notifications() == [("mention", "mara")]
    await server.follow("mara")
    poll = (await server.post("poll"))["poll"]
    assert [(one["title"], one["votes_count"]) for one in poll["options"]] == [("Lime", 2), ("Heather", 3)]
    assert (poll["multiple"], poll["voters_count"], poll["expired"]) == (True, 3, False)
    await server.send("delete")
    assert await server.stage.rows(
        "SELECT count(*) FROM statuses WHERE poll_id IS NOT NULL AND deleted_at IS NULL"
    ) == [[0]]


async def test_gotosocial(guest: Arrive) -> None:
    server = guest("gotosocial")
    account = await server.find("slo")
    assert (account["locked"], names(account["fields"])) == (True, ["Pronouns"])
    post = await server.post("post")
    assert (post["visibility"], post["spoiler_text"], post["sensitive"]) == ("public", "", False)
    assert files(post) == [("image", "leaves.jpeg", "leaves")]
    assert [one["acct"] for one in post["mentions"]] == ["ada"]
    assert await server.notifications() == [("mention", "slo")]


async def test_akkoma(guest: Arrive, own_post: dict[str, Any]) -> None:
    server = guest("akkoma")
    account = await server.find("rue")
    assert (account["display_name"], [one["shortcode"] for one in account["emojis"]]) == (
        "Rue :verified:",
        ["verified"],
    )
    post = await server.post("post")
    assert "<b>seeds</b> :verified:<br>second line" in post["content"]
    assert (post["sensitive"], post["spoiler_text"], post["visibility"]) == (False, "", "public")
    assert files(post) == [("image", "plant.png", "a rue plant")]
    assert [one["shortcode"] for one in post["emojis"]] == ["verified"]
    await server.send("reaction")
    await server.send("like")
    assert await server.notifications() == [("mention", "rue"), ("favourite", "rue")]
    assert (await server.ada.get(f"/api/v1/statuses/{own_post['id']}")).json["favourites_count"] == 1


async def test_misskey(guest: Arrive, own_post: dict[str, Any]) -> None:
    server = guest("misskey")
    account = await server.find("neko")
    assert (account["display_name"], account["acct"]) == ("ねこ", f"neko@{server.peer.domain}")
    assert account["avatar_static"].startswith("http")
    post = await server.post("post")
    assert "にゃーん<br>二行目" in post["content"]
    assert (post["url"], post["sensitive"]) == (server.peer.url("/notes/a1"), True)
    assert files(post) == [("image", "b2", None)]
    poll = (await server.post("poll"))["poll"]
    assert [(one["title"], one["votes_count"]) for one in poll["options"]] == [("猫", 4), ("犬", 1)]
    assert (poll["voters_count"], poll["multiple"]) == (5, False)
    await server.send("reaction")
    assert (await server.ada.get(f"/api/v1/statuses/{own_post['id']}")).json["favourites_count"] == 1
    await server.follow("neko")
    quoting = await server.post("quote")
    assert quoting["quote"]["quoted_status"]["id"] == own_post["id"]


async def test_pixelfed(guest: Arrive) -> None:
    server = guest("pixelfed")
    assert (await server.find("lens"))["note"] == "film &amp; light"
    post = await server.post("post")
    assert len(files(post)) == 10
    assert files(post)[0] == ("image", "0.jpg", "frame 0")
    assert files(post)[9] == ("video", "9.mp4", "frame 9")
    assert (names(post["tags"]), post["visibility"]) == (["film"], "public")


async def test_peertube(guest: Arrive) -> None:
    server = guest("peertube")
    channel = await server.find("boats")
    assert (channel["group"], channel["url"]) == (True, server.peer.url("/c/boats/videos"))
    assert (await server.find("vic"))["url"] == server.peer.url("/a/vic/video-channels")
    await server.follow("boats")
    await server.send("share")
    video = await server.shown(server.peer.url("/videos/watch/9c9d"))
    assert video["account"]["username"] == "vic"
    assert "A tide &amp; a boat" in video["content"]
    assert (video["url"], video["language"]) == (server.peer.url("/w/kkGMgK"), "fr")
    assert names(video["tags"]) == ["tide"]
    ((type, name, _),) = files(video)
    assert (type, name[-4:]) == ("video", ".mp4")
    assert video["media_attachments"][0]["preview_remote_url"].endswith(("small.jpg", "large.jpg"))
    (home,) = [one for one in (await server.ada.get("/api/v1/timelines/home")).json if one["reblog"]]
    assert (home["account"]["username"], home["reblog"]["id"]) == ("boats", video["id"])
    await server.send("view")
    comment = await server.post("comment")
    assert (comment["in_reply_to_account_id"], await server.notifications()) == (server.ada.id, [("mention", "vic")])


async def test_lemmy(guest: Arrive) -> None:
    server = guest("lemmy")
    group = await server.find("birds")
    assert (group["group"], group["display_name"]) == (True, "Birds")
    await server.follow("birds")
    await server.send("announced_create")
    await server.send("announced_page")
    await server.send("announced_vote")
    page = await server.shown(server.peer.url("/post/77"))
    assert page["account"]["username"] == "wren"
    assert "A heron on the roof" in page["content"]
    assert (page["language"], page["visibility"]) == ("en", "public")
    boosts = [one for one in (await server.ada.get("/api/v1/timelines/home")).json if one["reblog"]]
    assert [(one["account"]["username"], one["reblog"]["id"]) for one in boosts] == [("birds", page["id"])]
    comment = await server.post("comment")
    assert comment["in_reply_to_account_id"] == server.ada.id
    assert "<li>long legs</li>" in comment["content"]
    assert [one["acct"] for one in comment["mentions"]] == ["ada"]


async def test_friendica(guest: Arrive, own_post: dict[str, Any]) -> None:
    server = guest("friendica")
    account = await server.find("fritz")
    assert (account["locked"], account["bot"], account["url"]) == (True, False, server.peer.url("/profile/fritz"))
    post = await server.post("post")
    assert (post["edited_at"], post["language"], post["spoiler_text"]) == (None, "de", "")
    assert "<blockquote><p>quoted</p></blockquote>" in post["content"]
    assert "ab" not in post["content"].rpartition("</blockquote>")[2]
    assert files(post) == [("image", "p1-0.jpg", "the harbour")]
    assert names(post["tags"]) == ["hafen"]
    await server.send("like")
    await server.send("dislike")
    assert (await server.ada.get(f"/api/v1/statuses/{own_post['id']}")).json["favourites_count"] == 1
    article = await server.post("article")
    assert "Ebbe &amp; Flut" in article["content"]
    assert server.peer.url("/display/f4") in article["content"]


async def test_hubzilla(guest: Arrive) -> None:
    server = guest("hubzilla")
    account = await server.find("hana")
    assert (account["display_name"], account["fields"], account["url"]) == (
        "Hana",
        [],
        server.peer.url("/channel/hana"),
    )
    post = await server.post("post")
    assert post["content"].endswith(" a <span>red</span> leaf")
    assert (post["url"], files(post)) == (server.peer.url("/item/h1"), [("image", "leaf-1.jpg", "a leaf")])
    await server.send("container")
    assert await server.notifications() == [("mention", "hana")]
    assert await server.stage.rows("SELECT count(*) FROM statuses WHERE NOT local") == [[1]]


async def test_wordpress(guest: Arrive) -> None:
    server = guest("wordpress")
    account = await server.find("wanda")
    assert (account["url"], account["uri"]) == (server.peer.url("/author/wanda/"), server.peer.url("/?author=1"))
    assert names(account["fields"]) == ["Blog"]
    await server.follow("wanda")
    article = await server.post("article")
    assert "Tea, a history" in article["content"]
    assert "How leaves became a drink […]" in article["content"]
    assert f'href="{server.peer.url("/2026/11/tea/")}"' in article["content"]
    assert (article["spoiler_text"], article["sensitive"], article["language"]) == ("", False, "en")
    assert files(article) == [("image", "tea.jpg", "a pot")]
    assert names(article["tags"]) == ["tea"]
    comment = await server.post("comment")
    assert (comment["in_reply_to_account_id"], comment["url"]) == (
        server.ada.id,
        server.peer.url("/2026/11/tea/#comment-9"),
    )


async def test_mobilizon(guest: Arrive) -> None:
    server = guest("mobilizon")
    assert (await server.find("choir"))["group"] is True
    await server.follow("choir")
    await server.send("share")
    event = await server.shown(server.peer.url("/events/e1"))
    assert event["content"].startswith(
        "<p>Autumn concert</p><p>2026-12-05 19:00 \u2013 21:00, St. Nikolai, Markt 1, Kiel</p>"
    )
    assert event["language"] == "de"
    assert (event["account"]["username"], files(event)) == ("choir", [("image", "banner.webp", "Banner")])
    assert names(event["tags"]) == ["choir"]
    await server.send("join")
    comment = await server.post("comment")
    assert (comment["account"]["username"], comment["in_reply_to_account_id"]) == ("moni", server.ada.id)


async def test_bookwyrm(guest: Arrive) -> None:
    server = guest("bookwyrm")
    account = await server.find("page")
    assert (account["note"], account["discoverable"]) == ("reads", True)
    comment = await server.post("comment")
    assert "halfway through" in comment["content"]
    assert "page 120" in comment["content"]
    assert files(comment) == [("image", "7.jpg", "The Tides (cover)")]
    assert [one["acct"] for one in comment["mentions"]] == ["ada"]
    review = await server.post("review")
    assert html.unescape(review["content"]).startswith('<p>Review of "The Tides" (4 stars): Salt</p>')
    assert review["url"] == server.peer.url("/user/page/review/5")


@pytest.mark.parametrize("kind", sorted(path.stem for path in SERVERS.glob("*.json")))
async def test_no_activity_of_any_server_is_refused(guest: Arrive, kind: str) -> None:
    server = guest(kind)
    for name in server.activities:
        await server.send(name)
    assert server.stage.told("outbox.given_up") == []

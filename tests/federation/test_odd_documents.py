"""What other servers write in unusual ways is read as it was meant: delivered, and looked at by ada."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, applied, create, deliver, deliver_signed_in_part, follow, note, take
from .finding import followed, search
from .peer import ForeignServer

ADA = f"{HOME}/users/ada"
MENTION = {"type": "Mention", "href": ADA, "name": "@ada@home.test"}


async def shown(stage: Stage, ada: Person, document: dict[str, Any]) -> dict[str, Any]:
    """Return a post that was delivered, as ada sees it."""
    (row,) = await stage.rows("SELECT id FROM statuses WHERE uri = $1", document["id"])
    return (await ada.get(f"/api/v1/statuses/{row[0]}")).json


async def posted(stage: Stage, ada: Person, peer: ForeignServer, **changes: Any) -> dict[str, Any]:
    """Deliver a post that names ada, and return it as she sees it."""
    eve = peer.person("eve")
    named: dict[str, Any] = {"tag": [MENTION], "cc": [ADA]}
    document = note(eve, **(named | changes))
    await take(stage, create(eve, document))
    return await shown(stage, ada, document)


async def notified(ada: Person) -> list[tuple[str, str]]:
    found = (await ada.get("/api/v1/notifications")).json
    return [(one["type"], one["status"]["content"]) for one in found if one["type"] == "mention"]


# Who it is from and for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("audience", "visibility"),
    [
        ({"to": PUBLIC, "cc": ADA}, "public"),
        ({"to": "as:Public", "cc": [ADA]}, "public"),
        ({"to": [], "cc": ["Public", ADA]}, "unlisted"),
        ({"to": ADA, "audience": {"id": PUBLIC}}, "unlisted"),
        ({"to": "FOLLOWERS", "bcc": ADA}, "private"),
        ({"bto": ADA}, "direct"),
        ({"to": [{"type": "Person", "id": ADA}]}, "direct"),
    ],
)
@pytest.mark.parametrize("place", ["activity", "object"])
async def test_the_audience_may_stand_at_the_activity_alone(
    stage: Stage, ada: Person, peer: ForeignServer, audience: dict[str, Any], visibility: str, place: str
) -> None:
    eve = peer.person("eve")
    told = json.loads(json.dumps(audience).replace("FOLLOWERS", eve["followers"]))
    document = note(eve, to=None, cc=None, tag=MENTION)
    if place == "activity":
        await take(stage, create(eve, document) | told)
    else:  # and what the activity says is not added to it
        await take(stage, create(eve, document | told) | {"to": [PUBLIC], "cc": [f"{HOME}/users/bob"]})
    assert (await shown(stage, ada, document))["visibility"] == visibility
    assert await notified(ada) == [("mention", "<p>hello 1</p>")]


async def test_author_and_time_may_stand_at_the_activity_alone(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    document = note(eve, attributedTo=None, published=None, to=None, cc=None)
    activity = create(eve, document) | {"to": [ADA], "published": "2026-05-01T10:00:00Z"}
    await take(stage, activity | {"actor": [{"type": "Person", "id": eve["id"]}]}, signer=eve["id"])
    found = await shown(stage, ada, document)
    assert (found["account"]["username"], found["created_at"]) == ("eve", "2026-05-01T10:00:00.000Z")


async def test_an_edit_may_have_its_audience_at_the_activity_alone(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    document = note(eve, cc=[ADA], tag=[MENTION])
    await take(stage, create(eve, document))
    bare = {key: value for key, value in document.items() if key not in ("to", "cc", "attributedTo")}
    edited = bare | {"content": "<p>edited</p>", "updated": datetime.now(UTC).isoformat()}
    await take(stage, act(eve, "Update", edited, to=[PUBLIC], cc=[ADA]))
    found = await shown(stage, ada, document)
    assert (found["content"], found["visibility"]) == ("<p>edited</p>", "public")
    assert [one["acct"] for one in found["mentions"]] == ["ada"]


async def test_who_is_named_and_not_addressed_is_told_of_what_they_may_see(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    await take(stage, follow(eve, "ada"))
    for number, to in enumerate(([PUBLIC], [eve["followers"]], [f"{HOME}/users/bob"])):
        await take(stage, create(eve, note(eve, number, to=to, cc=[], tag=[MENTION])))
    assert await notified(ada) == [("mention", "<p>hello 0</p>")]
    await followed(ada, peer)
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": ADA, "object": eve["id"]}))
    await take(stage, create(eve, note(eve, 4, to=[eve["followers"]], cc=[], tag=[MENTION])))
    await take(stage, create(eve, note(eve, 5, to=[f"{HOME}/users/bob"], cc=[], tag=[MENTION])))
    assert await notified(ada) == [("mention", "<p>hello 4</p>"), ("mention", "<p>hello 0</p>")]


@pytest.mark.parametrize(
    "parents", [["OURS", "https://third.test/1"], [{"id": "OURS"}, {"id": "https://third.test/1"}]]
)
async def test_an_answer_to_two_is_an_answer_to_the_first(
    stage: Stage, ada: Person, peer: ForeignServer, parents: list[Any]
) -> None:
    own = await ada.publish("a post of ada")
    answered = json.loads(json.dumps(parents).replace("OURS", own["uri"]))
    found = await posted(stage, ada, peer, inReplyTo=answered)
    assert found["in_reply_to_id"] == own["id"]


async def test_an_activity_of_another_kind_is_ignored_without_an_actor(stage: Stage, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for kind in ("View", ["Dislike", "ext:Thing"]):
        reply = await deliver(stage, {"id": f"{eve['id']}#1", "type": kind, "object": eve["id"]}, signer=eve["id"])
        assert reply.status == 202
    for kind in ("Create", "as:Follow", None):
        reply = await deliver(stage, {"id": f"{eve['id']}#1", "type": kind, "object": eve["id"]}, signer=eve["id"])
        assert reply.status == 400


# Texts ----------------------------------------------------------------------------------------------------------------


async def test_half_an_emoji_is_left_out(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for number, half in enumerate((r"\ud83d", r"\uDE00", r"\ud83d\ud83d\ude00")):
        document = note(eve, number, content="<p>tea HALF</p>", cc=[ADA], tag=[MENTION])
        body = json.dumps(create(eve, document)).replace("HALF", half).encode()
        assert (await deliver(stage, body, signer=eve["id"])).status == 202
        await applied(stage)
        found = await shown(stage, ada, document)
        assert found["content"] == ("<p>tea \U0001f600</p>" if number == 2 else "<p>tea </p>")


@pytest.mark.parametrize(("before", "after", "status"), [
    (b"\xef\xbb\xbf", b"", 202), (b"  \n", b"\n", 202), (b"", b"\0", 400), (b"", b"}", 400), (b"\xff\xfe", b"", 400),
    (b"", b"{}", 400), (b"\0", b"", 400), (b'{"a": "\\ud83d", ', b"", 400),
])  # fmt: skip
async def test_what_surrounds_a_document(
    stage: Stage, peer: ForeignServer, before: bytes, after: bytes, status: int
) -> None:
    eve = peer.person("eve")
    body = before + json.dumps(create(eve, note(eve))).encode() + after
    assert (await deliver(stage, body, signer=eve["id"])).status == status
    await applied(stage)
    assert stage.failures == []


@pytest.mark.parametrize(("changes", "spoiler", "language"), [
    ({"summaryMap": {"de": "Tee"}, "contentMap": {"de": "<p>hello 1</p>"}}, "Tee", "de"),
    ({"summaryMap": {"fr": "th\u00e9"}, "summary": None}, "th\u00e9", "fr"),
    ({"summary": "tea", "summaryMap": {"de": "Tee"}}, "tea", "de"),
    ({"summary": {"de": "Tee"}}, "Tee", "de"),
    ({"summary": {"@value": "tea", "@language": "en"}}, "tea", "en"),
    ({"summaryMap": [{"@value": "tea", "@language": "en"}]}, "tea", "en"),
    ({"summaryMap": {"und": "tea"}}, "tea", None),
    ({"summaryMap": {}, "summary": ""}, "", None),
    ({"summaryMap": ["tea"]}, "tea", None),
    ({"summaryMap": "tea"}, "tea", None),
])  # fmt: skip
async def test_a_warning_may_come_by_language_alone(
    stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, Any], spoiler: str, language: str | None
) -> None:
    eve = peer.person("eve")
    document = note(eve, cc=[ADA], tag=[MENTION]) | changes
    await take(stage, create(eve, document))
    found = await shown(stage, ada, document)
    assert (found["spoiler_text"], found["sensitive"], found["language"]) == (spoiler, spoiler != "", language)
    assert found["content"] == "<p>hello 1</p>"


async def test_a_warning_and_a_title_may_be_html(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    found = await posted(stage, ada, peer, summary="Spiders<br>&amp; tea")
    assert (found["spoiler_text"], found["sensitive"]) == ("Spiders\n& tea", True)
    article = peer.url("/users/eve/statuses/2")
    found = await posted(stage, ada, peer, id=article, type="Article", name="Tom &amp; <em>Jerry</em>&#8217;s")
    assert found["content"].startswith("<p>Tom &amp; Jerry\u2019s</p><p><a href=")


@pytest.mark.parametrize(
    ("changes", "paragraphs"),
    [
        ({"type": "Video", "content": "<p>my <b>cat</b></p>"}, ["my <b>cat</b>"]),
        ({"type": "Image", "content": "a *cat*", "mediaType": "text/markdown"}, ["a <em>cat</em>"]),
        ({"type": "Article", "name": "Cats", "content": "<p>very long</p>"}, ["Cats"]),
        ({"type": "Article", "summary": "On cats", "content": "<p>very long</p>"}, ["On cats"]),
        ({"type": "Note", "name": "Cats & more", "content": None}, ["Cats &amp; more"]),
        ({"type": "Note", "name": "Cats", "content": "<p>a cat</p>"}, ["a cat"]),
    ],
)
async def test_a_post_is_shown_by_what_it_has(
    stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, Any], paragraphs: list[str]
) -> None:
    found = (await posted(stage, ada, peer, **changes))["content"]
    linked = "<p><a href=" in found
    assert linked == (changes["type"] != "Note")
    assert found.partition("<p><a href=")[0] == "".join(f"<p>{one}</p>" for one in paragraphs)


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ({"type": "Place", "name": "Hall", "address": "12 High St, Kiel"}, "Hall, 12 High St, Kiel"),
        ({"name": "Hall", "address": {"streetAddress": "12 High St", "addressLocality": "Kiel"}},
         "Hall, 12 High St, Kiel"),
        ("The hall, Kiel", "The hall, Kiel"),
        ([{"type": "VirtualLocation", "url": "https://meet.test/1"}, {"type": "Place", "name": "Hall"}], "Hall"),
        ("https://peer.test/places/1", ""),
        ([7, None, {"address": [8]}], ""),
    ],
)  # fmt: skip
async def test_a_place_may_be_one_text(
    stage: Stage, ada: Person, peer: ForeignServer, location: Any, told: str
) -> None:
    event = {"type": "Event", "name": "Fair", "startTime": "2026-12-05T19:00:00Z", "location": location}
    found = (await posted(stage, ada, peer, **event))["content"].partition("<p><a href=")[0]
    assert found == f"<p>Fair</p><p>2026-12-05 19:00{told and f', {told}'}</p>"


async def test_an_event_may_come_with_an_invitation(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    document = note(eve, type="Event", name="Fair", to=None, cc=None, tag=[MENTION])
    await take(stage, act(eve, "Invite", document, to=[PUBLIC], cc=[ADA]))
    found = await shown(stage, ada, document)
    assert (found["visibility"], found["content"].partition("<p><a")[0]) == ("public", "<p>Fair</p>")


@pytest.mark.parametrize(("texts", "content", "language"), [
    ({"content": "<p>tea</p>", "contentMap": {"de": "<p>Tee</p>", "en": "<p>tea</p>"}}, "<p>tea</p>", "en"),
    ({"contentMap": {"de": "<p>Tee</p>", "en": "<p>tea</p>"}}, "<p>Tee</p>", "de"),
    ({"content": "", "contentMap": {"pt-BR": "<p>ch\u00e1</p>"}}, "<p>ch\u00e1</p>", "pt-BR"),
    ({"contentMap": {"id": "<p>teh</p>"}}, "<p>teh</p>", "id"),
    ({"contentMap": {"und": "<p>tea</p>"}}, "<p>tea</p>", None),
    ({"contentMap": {"@none": "<p>tea</p>"}}, "<p>tea</p>", None),
    ({"contentMap": {"und": "<p>tea</p>", "en": "<p>tea</p>"}}, "<p>tea</p>", "en"),
    ({"content": ["<p>tea</p>"]}, "<p>tea</p>", None),
    ({"content": "<p>tea</p>", "contentMap": ["<p>Tee</p>"]}, "<p>tea</p>", None),
    ({"contentMap": ["<p>tea</p>"]}, "<p>tea</p>", None),
    ({"content": [{"@value": "<p>tea</p>"}, {"@value": "Tee", "@language": "de"}]}, "<p>tea</p>", None),
    ({"as:content": {"@type": "rdf:HTML", "@value": "<p>tea</p>"}}, "<p>tea</p>", None),
])  # fmt: skip
async def test_the_text_of_a_post_may_come_by_language_alone(
    stage: Stage, ada: Person, peer: ForeignServer, texts: dict[str, Any], content: str, language: str | None
) -> None:
    eve = peer.person("eve")
    document = note(eve, cc=[ADA], tag=[MENTION], content=None) | texts
    await take(stage, create(eve, document))
    found = await shown(stage, ada, document)
    assert (found["content"], found["language"]) == (content, language)


@pytest.mark.parametrize(("media_type", "text", "content"), [
    ("text/plain", "a < b & <i>c</i>\ntwo\n\nthree", "<p>a &lt; b &amp; &lt;i&gt;c&lt;/i&gt;<br>two</p><p>three</p>"),
    ("TEXT/Plain; charset=utf-8", "#tea for @ada", "<p>#tea for @ada</p>"),
    ("text/markdown", "so **good**\ntwo\n\n* three", "<p>so <strong>good</strong><br>two</p><ul><li>three</li></ul>"),
    ("text/markdown", "a<script>x</script>", "<p>a&lt;script&gt;x&lt;/script&gt;</p>"),
    ("text/markdown", "<p>*a*<script>x</script></p>", "<p>*a*</p>"),
    ("text/html", "<p>a\n<b>c</b></p>", "<p>a\n<b>c</b></p>"),
    ("image/png", "<p>a</p>", "<p>a</p>"),
    (["text/plain"], "a\nb", "<p>a<br>b</p>"),
    ("text/plain", f"{'<b> ' * 99}\n" * 50 + "#tea", "<p>" + f"{'&lt;b&gt; ' * 99}<br>" * 50 + "#tea</p>"),
])  # fmt: skip
async def test_a_text_may_be_plain_or_in_markdown(
    stage: Stage, ada: Person, peer: ForeignServer, media_type: object, text: str, content: str
) -> None:
    found = await posted(stage, ada, peer, content=text, mediaType=media_type)
    assert found["content"] == content


async def test_tags_by_any_spelling_of_their_types(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    emoji = {
        "type": "toot:Emoji",
        "name": ":blob:",
        "icon": {"type": "as:Image", "url": [{"href": peer.url("/b.png")}]},
    }
    hashtag = {"@type": "https://www.w3.org/ns/activitystreams#Hashtag", "as:name": "#tea"}
    found = await posted(stage, ada, peer, tag=[MENTION | {"type": "as:Mention"}, hashtag, emoji], content=":blob:")
    assert [one["acct"] for one in found["mentions"]] == ["ada"]
    assert [one["name"] for one in found["tags"]] == ["tea"]
    assert [one["shortcode"] for one in found["emojis"]] == ["blob"]


# Addresses and files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", [None, [], {"type": "Link"}, "https://elsewhere.test/1", 7])
async def test_a_post_without_a_page_has_its_id_for_one(
    stage: Stage, ada: Person, peer: ForeignServer, url: object
) -> None:
    found = await posted(stage, ada, peer, url=url)
    assert found["url"] == found["uri"]


@pytest.mark.parametrize(("host", "page", "is_own"), [
    ("peer.test", "https://www.peer.test/@eve/1", True),
    ("host0.peer.test", "https://peer.test/@eve/1", True),
    ("peer.test", "https://notpeer.test/@eve/1", False),
    ("peer.test", "https://peer.test.evil.test/@eve/1", False),
    ("host0.peer.test", "https://host1.peer.test/@eve/1", False),
])  # fmt: skip
async def test_a_page_may_be_above_or_below_the_host_of_the_id(
    stage: Stage, ada: Person, peer: ForeignServer, host: str, page: str, *, is_own: bool
) -> None:
    """Threads has ids on threads.net, and pages on www.threads.net."""
    eve = peer.person("eve", host)
    document = note(eve, url=page, cc=[ADA], tag=[MENTION])
    await take(stage, create(eve, document))
    assert (await shown(stage, ada, document))["url"] == (page if is_own else document["id"])


@pytest.mark.parametrize(("attachment", "type", "end"), [
    ({"type": "Document", "url": "PEER/a.JPG?size=large"}, "image", "/a.JPG?size=large"),
    ({"type": "Document", "url": [{"type": "Link", "mediaType": "image/webp", "href": "PEER/a"}]}, "image", "/a"),
    ({"type": "Document", "url": {"type": "Link", "mediaType": "video/mp4", "href": "PEER/a"}}, "video", "/a"),
    ({"type": "Document", "mediaType": "application/octet-stream", "url": "PEER/a.ogg"}, "audio", "/a.ogg"),
    ({"type": "Document", "mediaType": "IMAGE/PNG", "url": "PEER/a"}, "image", "/a"),
    ({"type": ["Document", "as:Image"], "url": "PEER/a"}, "image", "/a"),
    ({"type": "Image", "url": ["PEER/a", "PEER/b.png"]}, "image", "/b.png"),
    ({"type": "Link", "mediaType": "image/jpeg", "href": "PEER/a"}, "image", "/a"),
    ({"type": "Document", "href": "PEER/a.png"}, "image", "/a.png"),
    ({"type": "Document", "url": "PEER/a"}, "unknown", "/a"),
])  # fmt: skip
async def test_what_kind_of_file_an_attachment_is(
    stage: Stage, ada: Person, peer: ForeignServer, attachment: dict[str, Any], type: str, end: str
) -> None:
    document = json.loads(json.dumps(attachment).replace("PEER", peer.url("")))
    (file,) = (await posted(stage, ada, peer, attachment=document))["media_attachments"]
    assert (file["type"], file["remote_url"]) == (type, peer.url(end))


async def test_a_link_to_a_page_is_no_file(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    links = [
        {"type": "Link", "mediaType": "text/html", "href": peer.url("/page")},
        {"type": "Link", "href": peer.url("/page")},
        {"type": "Document", "url": [{"type": "Link", "mediaType": "text/html", "href": peer.url("/page")}]},
        {"type": "Document", "mediaType": "text/html; charset=utf-8", "url": peer.url("/page")},
        {"type": "Page", "url": peer.url("/page"), "name": "A page"},
        {"type": ["Article"], "id": peer.url("/page"), "url": [peer.url("/page")]},
    ]
    assert (await posted(stage, ada, peer, attachment=links))["media_attachments"] == []


async def test_of_many_pictures_sixteen_are_taken(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    pictures = [{"type": "Image", "url": peer.url(f"/{number}.png")} for number in range(20)]
    found = await posted(stage, ada, peer, attachment=pictures)
    assert [one["remote_url"] for one in found["media_attachments"]] == [one["url"] for one in pictures[:16]]


async def test_a_file_that_is_named_twice_is_there_once(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    picture = {"type": "Image", "mediaType": "image/png", "url": peer.url("/a.png")}
    document = note(eve, cc=[ADA], tag=[MENTION], attachment=[picture, {**picture, "type": "Document"}])
    await take(stage, create(eve, document))
    await take(stage, act(eve, "Update", document))
    found = await shown(stage, ada, document)
    assert ([one["remote_url"] for one in found["media_attachments"]], found["edited_at"]) == ([picture["url"]], None)


@pytest.mark.parametrize("told", [True, "true", {"@value": True}])
async def test_a_post_is_sensitive_if_one_of_its_files_is(
    stage: Stage, ada: Person, peer: ForeignServer, told: object
) -> None:
    pictures = [{"type": "Image", "url": peer.url(f"/{number}.png")} for number in range(2)]
    assert not (await posted(stage, ada, peer, attachment=pictures))["sensitive"]
    eve = peer.person("eve")
    document = note(eve, 2, cc=[ADA], tag=[MENTION], attachment=[pictures[0], pictures[1] | {"sensitive": told}])
    await take(stage, create(eve, document))
    assert (await shown(stage, ada, document))["sensitive"]


@pytest.mark.parametrize("name", ["icon", "image"])
async def test_the_cover_of_sound(stage: Stage, ada: Person, peer: ForeignServer, name: str) -> None:
    cover = {"type": "Image", "mediaType": "image/jpeg", "url": peer.url("/cover.jpg")}
    sound = {"type": "Audio", "mediaType": "audio/mpeg", "url": peer.url("/a.mp3"), name: cover}
    (file,) = (await posted(stage, ada, peer, attachment=sound))["media_attachments"]
    assert (file["type"], file["preview_remote_url"]) == ("audio", cover["url"])


async def test_a_post_about_a_page_links_to_it(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """Lemmy attaches the page, and its own page is that of the discussion."""
    attached = [
        {"type": "Link", "href": "https://news.test/1?a=1&b=2"},
        {"type": "Link", "href": "https://news.test/1?a=1&b=2", "mediaType": "text/html; charset=utf-8"},
        {"type": "Link", "href": "https://news.test/1.png", "mediaType": "image/png"},
        {"type": "Link", "href": "javascript:alert(1)"},
    ]
    found = await posted(stage, ada, peer, type="Page", name="News", content="<p>much</p>", attachment=attached)
    links = re.findall('href="([^"]*)"', found["content"])
    assert links == ["https://news.test/1?a=1&amp;b=2", found["uri"]]
    assert [one["remote_url"] for one in found["media_attachments"]] == ["https://news.test/1.png"]


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({"sound": ["audio"], "large": ["video"], "small": ["video"]}, []),
        ({"large": ["video"], "sound": ["audio"], "whole": ["audio", "video"]}, ["/whole.mp4"]),
        ({"large": ["video"], "small": ["video"]}, ["/large.mp4"]),  # a film without sound
        ({"sound": ["audio"]}, ["/sound.mp4"]),
    ],
)
async def test_a_part_of_a_film_is_not_the_film(
    stage: Stage, ada: Person, peer: ForeignServer, files: dict[str, list[str]], chosen: list[str]
) -> None:
    """PeerTube has playlists with the sound in a file of its own, and says of each file what it has."""

    def file(name: str, tracks: list[str]) -> dict[str, Any]:
        told = [{"type": "PropertyValue", "name": "ffprobe_codec_type", "value": track} for track in tracks]
        told.append({"type": "PropertyValue", "name": "peertube_format_flag", "value": "fragmented"})
        return {"type": "Link", "mediaType": "video/mp4", "href": peer.url(f"/{name}.mp4"), "attachment": told}

    page = {"type": "Link", "mediaType": "text/html", "href": peer.url("/w/1")}
    tags = [file(name, tracks) for name, tracks in files.items()]
    playlist = {"type": "Link", "mediaType": "application/x-mpegURL", "href": peer.url("/1.m3u8"), "tag": tags}
    found = await posted(stage, ada, peer, type="Video", name="A film", url=[page, playlist])
    assert [media["remote_url"] for media in found["media_attachments"]] == [peer.url(path) for path in chosen]
    assert peer.url("/w/1") in found["content"]


async def test_an_address_of_a_file_may_have_spaces_around_and_in_it(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    document = {"type": "Document", "mediaType": "image/png", "url": f" {peer.url('/a tea.png')}\n"}
    found = await posted(stage, ada, peer, attachment=[document], url=f"{peer.url('/@eve/1')} ")
    assert [media["remote_url"] for media in found["media_attachments"]] == [peer.url("/a%20tea.png")]
    assert found["url"] == peer.url("/@eve/1")


async def test_a_hashtag_is_no_file(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """A live stream has no files yet."""
    hashtag = {"type": "Hashtag", "name": "#tea", "href": peer.url("/tags/tea")}
    page = {"type": "Link", "mediaType": "text/html", "href": peer.url("/w/1")}
    found = await posted(stage, ada, peer, type="Video", name="Live", url=[page], tag=[hashtag, MENTION])
    assert found["media_attachments"] == []
    assert [tag["name"] for tag in found["tags"]] == ["tea"]


async def test_a_film_is_the_file_and_not_its_page(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    url = [
        {"type": "Link", "mediaType": "text/html", "href": peer.url("/w/1")},
        {"type": "Link", "mediaType": "application/x-mpegURL", "href": peer.url("/1.m3u8"), "tag": [
            {"type": "Link", "mediaType": "video/mp4", "href": peer.url("/fragmented.mp4"), "height": 2160}]},
        {"type": "Link", "mediaType": "video/mp4", "href": peer.url("/large.mp4"), "height": 1080, "size": 10**9},
        {"type": "Link", "mediaType": "video/mp4", "href": peer.url("/small.mp4"), "height": 480, "width": 854,
         "size": 10**6},
        {"type": "Link", "mediaType": "application/x-bittorrent", "href": peer.url("/1.torrent")},
    ]  # fmt: skip
    found = await posted(stage, ada, peer, type="Video", name="A film", url=url[:1] + url[2:])
    (film,) = found["media_attachments"]
    assert (film["type"], film["remote_url"]) == ("video", peer.url("/small.mp4"))
    assert (found["url"], film["meta"]["original"]["height"]) == (peer.url("/w/1"), 480)
    eve = peer.person("eve")
    playlist = note(eve, 2, type="Video", name="A film", url=url[:2], tag=[MENTION], cc=[ADA])
    await take(stage, create(eve, playlist))
    (film,) = (await shown(stage, ada, playlist))["media_attachments"]
    assert film["remote_url"] == peer.url("/fragmented.mp4")
    last = note(eve, 3, type="Video", name="A film", url=[*url[2:], url[0]], tag=[MENTION], cc=[ADA])
    await take(stage, create(eve, last))
    assert (await shown(stage, ada, last))["url"] == peer.url("/w/1"), "wherever it stands"


# Polls ----------------------------------------------------------------------------------------------------------------


async def test_a_poll_that_closes_later_is_open(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    now = datetime.now(UTC)
    for number, (told, expired) in enumerate([
        ({"closed": (now + timedelta(hours=2)).isoformat()}, False),
        ({"closed": (now - timedelta(hours=2)).isoformat()}, True),
        ({"closed": True}, True),
        ({"closed": "true"}, True),
        ({"closed": False, "endTime": (now + timedelta(hours=2)).timestamp()}, False),
        ({"closed": {"@value": (now - timedelta(hours=2)).isoformat()}}, True),
    ]):  # fmt: skip
        options = [{"type": "Note", "name": name} for name in ("tea", "coffee")]
        document = note(eve, number, type="Question", oneOf=options, cc=[ADA], tag=[MENTION], **told)
        await take(stage, create(eve, document))
        poll = (await shown(stage, ada, document))["poll"]
        assert poll["expired"] == expired, told
        assert (await ada.post(f"/api/v1/polls/{poll['id']}/votes", json={"choices": [0]})).status == (
            422 if expired else 200
        )


async def test_an_option_may_have_its_text_as_content(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    found = await posted(stage, ada, peer, type="Question", anyOf=[{"content": "tea"}, {"name": "", "content": "cake"}])
    assert [option["title"] for option in found["poll"]["options"]] == ["tea", "cake"]


@pytest.mark.parametrize(("choice", "votersCount", "voters"), [
    ("anyOf", None, 5), ("anyOf", 0, 5), ("anyOf", 6, 6), ("oneOf", None, 7), ("oneOf", 0, 7), ("anyOf", -1, 5),
])  # fmt: skip
async def test_at_least_so_many_have_voted(
    stage: Stage, ada: Person, peer: ForeignServer, choice: str, votersCount: int | None, voters: int
) -> None:
    """Misskey does not tell how many: apps divide by it."""
    options = [{"type": "Note", "name": name, "replies": {"totalItems": n}} for name, n in (("tea", 5), ("cake", 2))]
    poll = (await posted(stage, ada, peer, type="Question", **{choice: options}, votersCount=votersCount))["poll"]
    assert (poll["votes_count"], poll["voters_count"]) == (7, voters)


async def test_a_vote_names_the_option_with_its_spaces(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    options = [{"type": "Note", "name": name, "replies": {"totalItems": "2"}} for name in (" tea ", "coffee\u3000")]
    found = await posted(stage, ada, peer, type="Question", oneOf=options, votersCount="4")
    poll = found["poll"]
    assert [(one["title"], one["votes_count"]) for one in poll["options"]] == [("tea", 2), ("coffee", 2)]
    assert poll["voters_count"] == 4
    await ada.done("POST", f"/api/v1/polls/{poll['id']}/votes", json={"choices": [0]})
    ((body,),) = await stage.rows("SELECT body FROM activities WHERE body::jsonb->>'type' = 'Create'")
    assert json.loads(body)["object"]["name"] == " tea "


async def test_an_answer_with_a_title_and_a_picture_is_no_vote(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    poll = {"options": ["tea", "coffee"], "expires_in": 600}
    own = (await ada.post("/api/v1/statuses", json={"status": "which?", "poll": poll})).json
    picture = {"type": "Image", "url": peer.url("/a.png")}
    found = await posted(stage, ada, peer, name="my cup", content=None, inReplyTo=own["uri"], attachment=picture)
    assert (found["in_reply_to_id"], len(found["media_attachments"])) == (own["id"], 1)
    counted = (await ada.get(f"/api/v1/statuses/{own['id']}")).json
    assert (counted["replies_count"], counted["poll"]["votes_count"]) == (1, 0)


# Quotes ---------------------------------------------------------------------------------------------------------------

OBJECT = 'application/ld+json; profile="https://www.w3.org/ns/activitystreams"'
QUOTE = "https://misskey-hub.net/ns#_misskey_quote"


@pytest.mark.parametrize(("link", "is_quote"), [
    ({"mediaType": OBJECT}, True),
    ({"mediaType": "application/activity+json"}, True),
    ({"mediaType": OBJECT, "rel": QUOTE}, True),
    ({"mediaType": OBJECT, "rel": ["misskey:other", QUOTE]}, True),
    ({"rel": QUOTE}, True),
    ({"mediaType": OBJECT, "rel": "https://ext.test/ns#related"}, False),
    ({"mediaType": "text/html"}, False),
    ({}, False),
])  # fmt: skip
async def test_a_link_to_a_post_is_a_quote(
    stage: Stage, ada: Person, peer: ForeignServer, link: dict[str, Any], is_quote: bool
) -> None:
    own = await ada.publish("a post of ada")
    found = await posted(stage, ada, peer, tag=[MENTION, {"type": "Link", "href": own["uri"], "name": "RE:"} | link])
    assert (found["quote"] is not None and found["quote"]["quoted_status"]["id"] == own["id"]) == is_quote


# As reports show ------------------------------------------------------------------------------------------------------


async def test_an_actor_may_be_embedded_whole(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """Hubzilla, and in lists Bridgy Fed: also in a post, whose author has an icon in a list."""
    eve = peer.person("eve")
    await take(stage, follow(eve, "ada") | {"actor": eve}, signer=eve["id"])
    assert [one["username"] for one in (await ada.get(f"/api/v1/accounts/{ada.id}/followers")).json] == ["eve"]
    author = eve | {"icon": [{"type": "Image", "url": peer.url("/a.png")}]}
    document = note(eve, attributedTo=[author], cc=ADA, tag=MENTION)
    await take(stage, create(eve, document) | {"actor": [author]}, signer=eve["id"])
    assert (await shown(stage, ada, document))["account"]["username"] == "eve"


async def test_a_create_may_have_two_posts(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    posts = [
        {"@context": "https://www.w3.org/ns/activitystreams"} | note(eve, number, to=None, cc=None, audience=PUBLIC)
        for number in (1, 2)
    ]
    await take(stage, create(eve, posts[0]) | {"object": [one | {"tag": [MENTION]} for one in posts], "to": ADA})
    assert [(await shown(stage, ada, one))["visibility"] for one in posts] == ["unlisted", "unlisted"]


async def test_a_picture_may_come_in_several_formats(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """honk names a JPEG and an AVIF, Bridgy Fed a type without a media type, and a link is no picture."""
    url = [
        {"href": peer.url(f"/1.{ending}"), "mediaType": f"image/{kind}", "type": "Link"}
        for ending, kind in (("jpg", "jpeg"), ("avif", "avif"))
    ]
    attachments = [
        {"name": "XPM2r2.jpg", "summary": "a carrier", "type": "Document", "url": url},
        {"type": "Image", "url": peer.url("/13ee6d64.44205B5D"), "name": None},
        {"type": "Link", "href": "https://elsewhere.test/p/B_44"},
    ]
    found = (await posted(stage, ada, peer, attachment=attachments))["media_attachments"]
    assert [(one["type"], one["remote_url"], one["description"]) for one in found] == [
        ("image", peer.url("/1.jpg"), "a carrier"), ("image", peer.url("/13ee6d64.44205B5D"), None),
    ]  # fmt: skip


async def test_a_feed_in_one_language_and_a_context_that_is_none(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """A feed to ActivityPub: no `content`, a text for `to`, and a name of a type among the contexts."""
    eve = peer.person("eve")
    document = note(eve, content=None, to=PUBLIC, contentMap={"en-us": "<p>weekly news</p>"}, tag=[MENTION])
    context = ["https://www.w3.org/ns/activitystreams", "as:Hashtag", "https://w3id.org/security/v1"]
    await take(stage, create(eve, document) | {"@context": context})
    found = await shown(stage, ada, document)
    assert (found["content"], found["language"]) == ("<p>weekly news</p>", "en")


@pytest.mark.parametrize("icon", [
    "URL", ["URL"], {"url": "URL"}, [{"type": "Image", "url": "URL"}, {"type": "Image", "url": "OTHER"}],
    {"type": "Image", "url": {"type": "Link", "href": "URL", "mediaType": "image/png"}},
    {"type": "Link", "href": "URL", "mediaType": "image/png"}, {"as:url": {"@id": "URL"}, "@type": "as:Image"},
    [{"type": "Image", "url": [{"href": "URL", "mediaType": "image/png"}, "OTHER"]}], {"id": "URL"},
])  # fmt: skip
async def test_an_avatar_in_any_shape(ada: Person, peer: ForeignServer, icon: object) -> None:
    url = peer.url("/avatar")
    eve = peer.person("eve", icon=json.loads(json.dumps(icon).replace("URL", url).replace("OTHER", peer.url("/b"))))
    (found,) = (await ada.done("GET", "/api/v2/search", query_string={"q": eve["id"], "resolve": "true"}))["accounts"]
    assert "/avatar/" in found["avatar"] or found["avatar"] == url


# Messages, and addresses without a host -----------------------------------------------------------------------------


@pytest.mark.parametrize("type", ["ChatMessage", "litepub:ChatMessage", ["ChatMessage", "Note"]])
async def test_a_message_is_a_post_to_those_whom_it_is_addressed_to(
    stage: Stage, ada: Person, peer: ForeignServer, type: Any
) -> None:
    """Lemmy, Mbin and Pleroma write messages so, and tag nobody."""
    eve = peer.person("eve")
    document = note(eve, type=type, to=[ADA], cc=None)
    await take(stage, create(eve, document))
    found = await shown(stage, ada, document)
    assert (found["visibility"], [one["acct"] for one in found["mentions"]]) == ("direct", ["ada"])
    assert await notified(ada) == [("mention", "<p>hello 1</p>")]
    (conversation,) = (await ada.get("/api/v1/conversations")).json
    assert conversation["last_status"]["id"] == found["id"]


@pytest.mark.parametrize(
    "published",
    ["Tue, 03 Feb 2026 04:05:06 GMT", "2026-02-03 04:05:06 UTC", "Tue Feb 03 2026 05:05:06 GMT+0100 (CET)"],
)
async def test_times_are_read_as_programs_print_them(
    stage: Stage, ada: Person, peer: ForeignServer, published: str
) -> None:
    found = await posted(stage, ada, peer, published=published)
    assert found["created_at"] == "2026-02-03T04:05:06.000Z"


async def test_links_of_a_post_may_leave_out_their_host(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    page = peer.url("/2026/post/")
    links = ("/a?b&amp;c", "//cdn.test/d", "e", "../f", "#g", "javascript:h", "https://whole.test/i")
    content = "".join(f"<a class='x' href='{link}'>y</a>" for link in links)
    found = await posted(stage, ada, peer, url=page, content=content)
    assert re.findall('href="([^"]*)"', found["content"]) == [
        peer.url("/a?b&amp;c"), "http://cdn.test/d", peer.url("/2026/post/e"), peer.url("/2026/f"),
        "https://whole.test/i",
    ]  # fmt: skip


async def test_pictures_and_pages_may_leave_out_their_host(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    files = [{"type": "Image", "mediaType": "image/png", "url": "/1.png"}, {"type": "Image", "url": "//cdn.test/2.png"}]
    blob = {"type": "Emoji", "name": ":blob:", "icon": {"type": "Image", "url": "/blob.png"}}
    found = await posted(
        stage, ada, peer, url="/@eve/1", attachment=files, tag=[MENTION, blob], content="<p>:blob:</p>"
    )
    assert found["url"] == peer.url("/@eve/1")
    assert [one["remote_url"] for one in found["media_attachments"]] == [peer.url("/1.png"), "http://cdn.test/2.png"]
    assert await stage.rows("SELECT remote_url FROM custom_emojis") == [[peer.url("/blob.png")]]


async def test_the_picture_of_an_actor_may_leave_out_its_host(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    summary = '<p><a href="/about">about</a></p>'
    peer.person("eve", icon={"type": "Image", "url": "/eve.png"}, image="/wide.png", url="/@eve", summary=summary)
    (found,) = await search(ada, f"@eve@{peer.domain}")
    assert found["url"] == peer.url("/@eve")
    assert f'href="{peer.url("/about")}"' in found["note"]
    (row,) = await stage.rows("SELECT avatar_remote_url, header_remote_url FROM accounts WHERE domain IS NOT NULL")
    assert row == [peer.url("/eve.png"), peer.url("/wide.png")]


@pytest.mark.parametrize(("name", "shown_name"), [("#l&#039;eau", "leau"), ("#R&amp;D", "rd"), ("#tea", "tea")])
async def test_hashtags_may_be_written_as_html(
    stage: Stage, ada: Person, peer: ForeignServer, name: str, shown_name: str
) -> None:
    found = await posted(stage, ada, peer, tag=[MENTION, {"type": "Hashtag", "name": name}])
    assert [one["name"] for one in found["tags"]] == [shown_name]


@pytest.mark.parametrize("form", ["%a, %d %b %Y %H:%M:%S -0000", "%a %b %d %H:%M:%S %Y", "%d %b %Y %H:%M:%S UTC"])
async def test_the_date_of_a_signed_request_may_lack_a_zone(
    stage: Stage, ada: Person, peer: ForeignServer, form: str
) -> None:
    """Python writes the first form by default, and HTTP once had the second one."""
    activity = follow(peer.person("eve"), "ada")
    covered = ["(request-target)", "host", "date", "digest"]
    for hours, status in ((2, 401), (0, 202)):
        date = (datetime.now(UTC) - timedelta(hours=hours)).strftime(form)
        assert (await deliver_signed_in_part(stage, activity, covered, date=date)).status == status

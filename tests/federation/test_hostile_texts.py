"""Texts, numbers and shapes that hurt, in posts and profiles of other servers: each is stored as something harmless or
not at all. Neither the server nor the API fails over them.
"""

from __future__ import annotations

import json
from itertools import cycle
from typing import Any

from troupe.actors.activitypub.vocabulary import LARGEST_DOCUMENT

from ..clients import Person, Stage
from .delivering import HOME, act, applied, create, deliver, note, take
from .finding import until_done
from .peer import ForeignServer

MARKUP = '<script>alert(1)</script><img src=x onerror="alert(1)"><a href="javascript:alert(1)">x</a>'
TEXTS: dict[str, object] = {
    "markup": MARKUP,
    "nul": "a\0b",
    "controls": "\x01\x08\x1b[31m\x7f\x85\u2028\ufeff\uffff",
    "right to left": "\u202eabc\u2066\u061c",
    "one long word": "w" * 100_000,
    "open tags": "<b>" * 30_000,
    "many emoji": "\U0001f468\u200d\U0001f469" * 3_000,
    "nothing": "",
    "spaces": " \n\t\u3000",
}
# In place of a text, a number, a time, an address or an object.
SHAPES: dict[str, object] = {
    "a number": 7, "a huge number": 10**30, "a negative number": -(10**12), "a fraction": 1e308, "a truth": True,
    "a list": ["x"], "lists": [[["x"]]], "an object": {"x": {"y": 1}}, "an empty list": [], "an empty object": {},
    "many": ["https://peer.test/x"] * 2000, "mixed": [None, 7, {"id": 7}, {"type": 7}, {"type": [{}]}, ["x"], "x"],
    "year 99999": "99999-01-01T00:00:00Z", "the first day": "0001-01-01T00:00:00+14:00",
    "the last day": "9999-12-31T23:59:59-14:00",
    "a script": "javascript:alert(1)", "no host": "https://", "a bad port": "https://peer.test:99999999/",
    "a bracket": "https://[::1/x", "an address with nul": "https://peer.test/\0",
    "an address of two lines": "https://peer.test/a\nb", "an address in Greek": "https://peer.test/" + "ω" * 2000,
    "a long address": "https://peer.test/" + "x" * 2000,
}  # fmt: skip
HOSTILE = TEXTS | SHAPES

POST = (
    "content", "contentMap", "summary", "name", "url", "published", "updated", "sensitive", "inReplyTo", "to", "cc",
    "tag", "attachment", "quote", "quoteUrl", "replies", "conversation", "context", "endTime", "oneOf", "votersCount",
)  # fmt: skip
ATTACHMENT = ("type", "mediaType", "url", "name", "summary", "blurhash", "focalPoint", "width", "height", "icon")
OPTION = ("name", "replies")
TAG = ("name", "href", "icon")
PERSON = (
    "name", "summary", "url", "icon", "image", "attachment", "tag", "published", "manuallyApprovesFollowers",
    "discoverable", "alsoKnownAs", "movedTo", "featured", "outbox", "followers", "following", "endpoints", "publicKey",
    "inbox", "preferredUsername", "type", "suspended",
)  # fmt: skip
NEEDED = {"inbox", "preferredUsername", "type"}  # of a profile: without one of them it is not stored

MOST_AT_ONCE = 20  # of what one request carries


def odd_posts(eve: dict[str, Any], peer: ForeignServer) -> list[tuple[str, dict[str, Any]]]:
    """Return posts that have something hostile in one place each, with what it is."""
    mention = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
    found: list[tuple[str, dict[str, Any]]] = []

    def add(what: str, /, tags: tuple[Any, ...] = (), **changes: Any) -> None:
        tags = (mention, *tags)
        found.append((what, note(eve, len(found), **{"cc": [f"{HOME}/users/ada"], "tag": tags} | changes)))

    for what, value in HOSTILE.items():
        for place in POST:
            kind = "Question" if place in ("oneOf", "endTime") else "Note"
            odd: dict[str, Any] = {"type": kind, place: value}
            add(f"{what} as {place}", **odd)
        for place in ATTACHMENT:
            picture = {"type": "Document", "mediaType": "image/png", "url": peer.url("/a.png")} | {place: value}
            add(f"{what} as {place} of a file", attachment=[picture])
        for place in OPTION:
            options = [{"type": "Note", "name": "tea"}, {"type": "Note", "name": "coffee", place: value}]
            add(f"{what} as {place} of an option", type="Question", oneOf=options, votersCount=value)
        options = [{"type": "Note", "name": name, "replies": {"totalItems": value}} for name in ("tea", "coffee")]
        add(f"{what} as a tally", type="Question", anyOf=options)
        for kind in ("Hashtag", "Emoji", "Mention"):
            for place in TAG:
                tag = {"type": kind, "name": ":x_y:", "icon": {"url": peer.url("/b.png")}, place: value}
                add(f"{what} as {place} of a {kind}", tags=(tag,))
        add(f"{what} as the address of an emoji", tags=({"type": "Emoji", "name": ":xy:", "icon": {"url": value}},))
    return found


def odd_profiles(peer: ForeignServer) -> list[dict[str, Any]]:
    """Return what makes an actor's document one that has something hostile in one place."""
    found: list[dict[str, Any]] = []
    for value in HOSTILE.values():
        found += [{place: value} for place in PERSON]
        for field in ({"name": "n", "value": value}, {"name": value, "value": "v"}):
            found.append({"attachment": [{"type": "PropertyValue"} | field]})
        for picture in ({"url": value}, {"url": peer.url("/a.png"), "name": value}, {"url": {"href": value}}):
            found.append({"icon": {"type": "Image"} | picture})
    return found


def in_parts(posts: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return posts in lists that are small enough for one activity, which the server stores one after the other."""
    parts: list[list[dict[str, Any]]] = []
    room = 0
    for post in posts:
        size = len(json.dumps(post))
        if room < size or len(parts[-1]) == MOST_AT_ONCE:
            parts.append([])
            room = LARGEST_DOCUMENT // 2
        parts[-1].append(post)
        room -= size
    return parts


async def deliver_all(stage: Stage, activities: list[dict[str, Any]], at_once: int = 100) -> None:
    """Deliver activities, so many before the server has applied them. None waits for another try."""
    for number, activity in enumerate(activities, 1):
        reply = await deliver(stage, activity)
        assert reply.status == 202, (activity, reply.text)
        if number % at_once == 0 or number == len(activities):
            await applied(stage)
    assert await stage.rows("SELECT left(payload::text, 500), error FROM outbox WHERE queue = 'inbox'") == []


async def test_odd_posts_do_no_harm(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    posts = odd_posts(eve, peer)
    parts = in_parts([document for _, document in posts])
    await deliver_all(stage, [act(eve, "Create", part, number) for number, part in enumerate(parts)], at_once=5)
    given_up = stage.told("outbox.given_up")
    assert given_up == [], f"{len(given_up)}: {given_up[:20]}"
    rows = await stage.rows("SELECT id, content, uri FROM statuses")
    assert {uri for _, _, uri in rows} == {post["id"] for _, post in posts}
    await show_all(ada, "statuses", [str(id) for id, _, _ in rows])
    for _, content, uri in rows:
        assert "<script" not in content, uri
        assert '="javascript' not in content, uri
    for path in ("timelines/public?remote=true", "notifications", "timelines/home", "conversations"):
        assert (await ada.get(f"/api/v1/{path}")).status == 200
    assert stage.failures == []


async def test_odd_edits_do_no_harm(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    first = note(eve, 0, cc=[f"{HOME}/users/ada"], published="2026-01-01T00:00:00Z", tag=[
        {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada@home.test"}
    ])  # fmt: skip
    await take(stage, create(eve, first))
    edits: list[dict[str, Any]] = []
    for number, (_, document) in enumerate(odd_posts(eve, peer)[::3]):
        updated = f"2026-01-02T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        changed = {"updated": updated} | document | {"id": first["id"], "published": first["published"]}
        edits.append(act(eve, "Update", changed, number))
    await deliver_all(stage, edits)
    assert stage.told("outbox.given_up") == []
    (row,) = await stage.rows("SELECT id FROM statuses")
    assert (await ada.get(f"/api/v1/statuses/{row[0]}")).status == 200
    assert (await ada.get(f"/api/v1/statuses/{row[0]}/history")).status == 200
    assert stage.failures == []


async def test_odd_profiles_do_no_harm(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    found: list[str] = []
    profiles = odd_profiles(peer)
    # Of one domain only some hundred accounts are stored at once.
    for number, (changes, host) in enumerate(zip(profiles, cycle(("peer.test", "other.test", "third.test")))):
        eve = peer.person(f"eve{number}", host, **changes)
        found += await found_by(ada, eve["id"])
    # An inbox may be on another host, where a static site has its own, and the first one of many counts.
    inboxes = [{"inbox": SHAPES[name]} for name in ("a long address", "many")]
    whole = [one for one in profiles if one.keys().isdisjoint(NEEDED) or one in inboxes]
    shown = [one for one in whole if one != {"suspended": True}]
    assert len(found) == len(shown)
    await show_all(ada, "accounts", found)
    assert stage.failures == []
    await until_done(stage)


async def found_by(ada: Person, uri: str) -> list[str]:
    """Search for a profile; return the ids of the accounts that are found."""
    found = await ada.get("/api/v2/search", query_string={"q": uri, "resolve": "true"})
    assert found.status == 200, (uri, found.text[:500])
    return [account["id"] for account in found.json["accounts"]]


async def show_all(ada: Person, what: str, ids: list[str]) -> None:
    """Have the API show all of these statuses or accounts."""
    for start in range(0, len(ids), MOST_AT_ONCE):
        some = ids[start : start + MOST_AT_ONCE]
        shown = await ada.get(f"/api/v1/{what}", query_string={"id[]": some})
        assert shown.status == 200, (some, shown.text[:500])
        assert [one["id"] for one in shown.json] == some


async def test_odd_posts_are_found_without_harm(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for name, document in odd_posts(eve, peer)[::2]:
        peer.serve(document["id"], document)
        found = await ada.get("/api/v2/search", query_string={"q": document["id"], "resolve": "true"})
        assert found.status == 200, (name, found.text[:500])
    assert stage.failures == []


async def test_odd_activities_do_no_harm(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    kinds = (
        "Accept", "Add", "Announce", "Block", "Create", "Delete", "Flag", "Follow", "Like", "Move", "Reject", "Remove",
        "Undo", "Update",
    )  # fmt: skip
    activities: list[dict[str, Any]] = []
    for number, value in enumerate(HOSTILE.values()):
        for kind in kinds:
            inner = {"type": "Note", "id": value, "attributedTo": eve["id"], "actor": value, "object": value}
            activities += (
                act(eve, kind, value, number),
                act(eve, kind, inner, f"{number}b", target=value, published=value, to=value),
                act(eve, kind, f"{HOME}/users/ada", f"{number}c", target=value) | {"id": value},
            )
    await deliver_all(stage, activities)
    assert stage.told("outbox.given_up") == []
    assert stage.failures == []

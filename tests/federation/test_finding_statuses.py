"""Statuses of other servers are found by their addresses; their threads are completed, and pins are read."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from troupe.actors.rules.limits import PINS_ELSEWHERE

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, create, take
from .finding import followed, search, until_done
from .peer import ForeignServer

URIS = "SELECT uri FROM statuses WHERE NOT local ORDER BY uri"


async def search_status(person: Person, url: str) -> list[Any]:
    reply = await person.done("GET", "/api/v2/search", query_string={"q": url, "resolve": "true"})
    return reply["statuses"]


async def test_a_status_is_found_by_its_address_and_by_its_page(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    note = peer.note(eve, "/notes/1", url=peer.url("/@eve/1"))
    page = f'<link rel="alternate" type="application/activity+json" href="{note["id"]}">'
    peer.serve(note["url"], page.encode(), "text/html")
    (found,) = await search_status(ada, note["url"])
    assert (found["uri"], found["url"], found["content"]) == (note["id"], note["url"], "<p>hello</p>")
    assert found["account"]["acct"] == f"eve@{peer.domain}"
    assert [one["id"] for one in await search_status(ada, note["id"])] == [found["id"]]
    assert len(peer.asked(note["id"])) == 1


def published(peer: ForeignServer, note: dict[str, Any], named: object) -> str:
    """Serve the Create of a note, and return its id."""
    activity: dict[str, Any] = {
        "id": f"{note['id']}/activity",
        "type": "Create",
        "actor": note["attributedTo"],
        "object": named,
    }
    return peer.serve(activity["id"], activity)


async def test_a_status_is_found_by_the_activity_that_has_published_it(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, fay = peer.person("eve"), peer.person("fay", "other.test")
    note = peer.note(eve, "/notes/1")
    (found,) = await search_status(ada, published(peer, note, note))
    assert (found["uri"], found["account"]["acct"]) == (note["id"], f"eve@{peer.domain}")
    assert [one["id"] for one in await search_status(ada, f"{note['id']}/activity")] == [found["id"]]
    # What an activity says of a post of another server is asked of that server, and no activity leads to the next one.
    other = peer.note(fay, "/notes/2", "<p>yes</p>")
    forged: dict[str, Any] = {
        "id": peer.url("/forged"),
        "type": "Create",
        "actor": eve["id"],
        "object": other | {"content": "no"},
    }
    (found,) = await search_status(ada, peer.serve(forged["id"], forged))
    assert (found["content"], found["account"]["acct"]) == ("<p>yes</p>", f"fay@{peer.domain_of('other.test')}")
    chain: dict[str, Any] = {
        "id": peer.url("/chain"),
        "type": "Create",
        "actor": eve["id"],
        "object": published(peer, other, other),
    }
    assert await search_status(ada, peer.serve(chain["id"], chain)) == []


async def test_a_boost_may_name_the_activity_that_has_published_a_post(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, fay = peer.person("eve"), peer.person("fay", "other.test")
    await followed(ada, peer, "eve")
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}))
    note = peer.note(fay, "/notes/1")
    boost = act(eve, "Announce", published(peer, note, note["id"]), to=[PUBLIC])
    await take(stage, boost)
    (shown,) = await ada.done("GET", "/api/v1/timelines/home")
    assert shown["reblog"]["uri"] == note["id"]
    await take(stage, act(eve, "Undo", boost, 2))
    assert await ada.done("GET", "/api/v1/timelines/home") == []


@pytest.mark.parametrize(
    "changes", [{"attributedTo": "http://other.test/users/eve"}, {"attributedTo": None}, {"type": "Like"}]
)
async def test_class_1_a_status_of_somebody_else_is_not_found(
    stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, Any]
) -> None:
    note = peer.note(peer.person("eve"), "/notes/1")
    if changes.get("attributedTo"):
        changes = {"attributedTo": peer.person("eve", "other.test")["id"]}
    peer.serve(note["id"], {key: value for key, value in (note | changes).items() if value is not None})
    assert await search_status(ada, note["id"]) == []
    assert await stage.rows(URIS) == []


async def test_a_status_that_is_not_for_the_viewer_is_not_shown(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    note = peer.note(eve, "/notes/1", to=[eve["followers"]], cc=[])
    assert await search_status(ada, note["id"]) == []


async def test_a_thread_is_completed_when_it_is_shown(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, fay = peer.person("eve"), peer.person("fay", "other.test")
    first = peer.note(eve, "/notes/1")
    second = peer.note(fay, "/notes/2", inReplyTo=first["id"])
    replies = peer.url("/notes/3/replies")
    third = peer.note(eve, "/notes/3", inReplyTo=second["id"], replies=replies)
    fourth = peer.note(fay, "/notes/4", inReplyTo=third["id"])
    elsewhere = peer.note(fay, "/notes/5")
    collection = {"type": "Collection", "first": {"type": "CollectionPage", "items": [fourth["id"], elsewhere["id"]]}}
    peer.serve(replies, collection)
    (found,) = await search_status(ada, third["id"])
    path = f"/api/v1/statuses/{found['id']}/context"
    assert (await ada.get(path)).json == {"ancestors": [], "descendants": []}
    await until_done(stage)
    thread = (await ada.get(path)).json
    assert [one["uri"] for one in thread["ancestors"]] == [first["id"], second["id"]]
    assert [one["uri"] for one in thread["descendants"]] == [fourth["id"]]
    assert [elsewhere["id"]] not in await stage.rows(URIS), "it is no answer to anything here"
    await until_done(stage)
    assert len(peer.asked(third["id"])) == 2, "a thread is not completed each time that it is shown"


async def test_class_18_a_thread_without_an_end_is_left(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    for number in range(60):
        peer.note(eve, f"/notes/{number}", inReplyTo=peer.url(f"/notes/{number + 1}"))
    (found,) = await search_status(ada, peer.url("/notes/0"))
    await ada.get(f"/api/v1/statuses/{found['id']}/context")
    await until_done(stage)
    assert len(await stage.rows(URIS)) == 21


async def test_class_18_statuses_that_answer_each_other_are_fetched_once(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    one, other = peer.url("/notes/1"), peer.url("/notes/2")
    peer.note(eve, "/notes/1", inReplyTo=other, replies={"items": [other], "next": one})
    peer.note(eve, "/notes/2", inReplyTo=one, replies={"items": [one], "next": other})
    (found,) = await search_status(ada, one)
    await ada.get(f"/api/v1/statuses/{found['id']}/context")
    await until_done(stage)
    assert len(await stage.rows(URIS)) == 2
    assert len(peer.peer.asked) < 20


async def test_class_18_a_collection_without_an_end_is_left(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    pages = [peer.url(f"/replies/{number}") for number in range(40)]
    for number, page in enumerate(pages[:-1]):
        peer.collection(page, [peer.url(f"/notes/{number}/{one}") for one in range(5)], next=pages[number + 1])
    note = peer.note(eve, "/notes/1", replies=pages[0])
    (found,) = await search_status(ada, note["id"])
    await ada.get(f"/api/v1/statuses/{found['id']}/context")
    await until_done(stage)
    assert [len(peer.asked(page)) for page in pages[:5]] == [1, 1, 1, 0, 0]


async def test_what_a_received_reply_answers_is_fetched(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    first = peer.note(eve, "/notes/1")
    second = peer.note(eve, "/notes/2", inReplyTo=first["id"])
    mention = {"type": "Mention", "href": "https://home.test/users/ada", "name": "@ada@home.test"}
    third = peer.note(eve, "/notes/3", inReplyTo=second["id"], tag=[mention], cc=[mention["href"]])
    await take(stage, {"id": f"{third['id']}#create", "type": "Create", "actor": eve["id"], "object": third})
    await until_done(stage)
    assert await stage.rows(URIS) == [[first["id"]], [second["id"]], [third["id"]]]
    (told,) = (await ada.get("/api/v1/notifications")).json
    thread = (await ada.get(f"/api/v1/statuses/{told['status']['id']}/context")).json
    assert [one["uri"] for one in thread["ancestors"]] == [first["id"], second["id"]]


async def test_what_a_reply_that_concerns_nobody_answers_is_not_asked_for(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    first = peer.note(eve, "/notes/1")
    second = peer.note(eve, "/notes/2", inReplyTo=first["id"])
    await take(stage, {"id": f"{second['id']}#create", "type": "Create", "actor": eve["id"], "object": second})
    await until_done(stage)
    assert await stage.rows(URIS) == []
    assert peer.asked(first["id"]) == []


async def test_more_posts_may_be_pinned_elsewhere_than_here(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    notes = [peer.note(eve, f"/notes/{number}", published=None) for number in range(PINS_ELSEWHERE + 2)]
    peer.collection(eve["featured"], [*notes[:7]])
    (found,) = await search(ada, eve["id"])
    await until_done(stage)
    path = f"/api/v1/accounts/{found['id']}/statuses?pinned=true"
    assert len((await ada.get(path)).json) == 7
    for number, note in enumerate(notes):
        await take(stage, act(eve, "Add", note, number, target=eve["featured"]))
    assert {one["uri"] for one in (await ada.get(path)).json} == {one["id"] for one in notes[:PINS_ELSEWHERE]}


async def test_pins_may_be_named_by_what_has_published_them(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """Friendica lists Creates, with the post in it or with its id."""
    eve = peer.person("eve")
    notes = [peer.note(eve, f"/notes/{number}", published=None) for number in range(2)]
    peer.collection(eve["featured"], [create(eve, notes[0]), create(eve, notes[1]) | {"object": notes[1]["id"]}])
    (found,) = await search(ada, eve["id"])
    await until_done(stage)
    pinned = (await ada.get(f"/api/v1/accounts/{found['id']}/statuses?pinned=true")).json
    assert {one["uri"] for one in pinned} == {note["id"] for note in notes}


# A collection, its other pages by their paths, and the notes that are pinned.
COLLECTIONS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"items": ["A", "B"]}, {}, "AB"),
    ({"orderedItems": "A"}, {}, "A"),
    ({"first": "/1"}, {"/1": {"orderedItems": ["A"]}}, "A"),
    ({"first": {"items": ["A"], "next": "/2"}}, {"/2": {"items": ["B"]}}, "AB"),
    ({"first": {"id": "/1", "type": "CollectionPage"}}, {"/1": {"items": ["A"]}}, "A"),
    ({"first": ["/1"]}, {"/1": {"first": "/1", "orderedItems": [], "next": "/2"}, "/2": {"items": ["B"]}}, "B"),
    ({"items": [], "first": "/1"}, {"/1": {"items": ["A"], "next": "/2"}, "/2": {"items": "B"}}, "AB"),
    ({"first": "/1"}, {"/1": {"items": ["A"], "next": "/1"}}, "A"),
    ({"first": "/1"}, {"/1": {"items": ["A"], "next": "/gone"}}, "A"),
    ({"first": "/1"}, {f"/{number}": {"items": [], "next": f"/{number + 1}"} for number in range(1, 40)}, ""),
    ({"first": None, "totalItems": 0}, {}, ""),
    ({"first": 7}, {}, ""),
]


@pytest.mark.parametrize(("collection", "pages", "pinned"), COLLECTIONS)
async def test_a_collection_is_read_with_its_pages(
    stage: Stage, ada: Person, peer: ForeignServer, collection: dict[str, Any], pages: dict[str, Any], pinned: str
) -> None:
    eve = peer.person("eve")
    uris = {name: peer.note(eve, f"/notes/{name}", published=None)["id"] for name in "AB"}

    def written(part: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(part)
        for name, uri in uris.items():
            text = text.replace(f'"{name}"', f'"{uri}"')
        return json.loads(re.sub(r'"(/\w+)"', lambda found: f'"{peer.url(found[1])}"', text))

    peer.serve(eve["featured"], {"id": eve["featured"], "type": "OrderedCollection"} | written(collection))
    for path, page in pages.items():
        peer.serve(peer.url(path), {"id": peer.url(path), "type": "OrderedCollectionPage"} | written(page))
    (found,) = await search(ada, eve["id"])
    await until_done(stage)
    shown = (await ada.get(f"/api/v1/accounts/{found['id']}/statuses?pinned=true")).json
    assert {one["uri"] for one in shown} == {uris[name] for name in pinned}
    assert len(peer.peer.asked) < 20


async def test_pins_are_those_of_the_featured_collection(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, fay = peer.person("eve"), peer.person("fay")
    notes = [peer.note(eve, f"/notes/{number}", published=f"2024-03-0{number + 1}T00:00:00Z") for number in range(3)]
    foreign = peer.note(fay, "/notes/9")
    forged = peer.note(eve, "/notes/8") | {"id": peer.url("/notes/8", "other.test")}
    third = peer.url("/notes/7", "third.test")
    peer.collection(eve["featured"], [notes[0], notes[1]["id"], foreign["id"], third, forged, 7, None])
    (found,) = await search(ada, eve["id"])
    await until_done(stage)
    path = f"/api/v1/accounts/{found['id']}/statuses?pinned=true"
    assert {one["uri"] for one in (await ada.get(path)).json} == {notes[0]["id"], notes[1]["id"]}
    assert peer.asked(third) == []
    peer.collection(eve["featured"], [notes[2]["id"]])
    account = await stage.http_context.accounts.find(int(found["id"]))
    assert account is not None
    await stage.http_context.federation.resolver.refresh(account)
    await until_done(stage)
    assert [one["uri"] for one in (await ada.get(path)).json] == [notes[2]["id"]]

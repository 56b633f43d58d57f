"""What people do on four other servers, in the documents that these servers send: Takahē, Hollo, snac and GoToSocial.

Each writes ids, audiences and times in a way of its own. The same things must come of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, take
from .finding import followed, until_done
from .peer import ForeignServer

ADA = f"{HOME}/users/ada"
Document = dict[str, Any]


@dataclass(frozen=True)
class Software:
    """How a server writes the activities of `eve`. `note` gets a number, a text and the time of an edit."""

    note: Callable[[Document, int, str, datetime | None], Document]
    follow_id: Callable[[Document], str]
    accept_id: Callable[[Document, str], str]
    create_id: Callable[[Document], str]
    update_id: Callable[[Document, int], str]
    delete: Callable[[Document, Document], Document]
    votes: Callable[[Document, str, list[str]], list[Document]]


def second() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def whole(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def takahe_note(eve: Document, number: int, text: str, edited: datetime | None) -> Document:
    """No followers among the addressees, times with microseconds, and a URL on its server."""
    note: Document = {
        "type": "Note", "id": f"{eve['id']}/posts/{number}/", "published": "2026-11-20T10:00:00.000Z",
        "attributedTo": eve["id"], "content": f"<p>{text} <a href='{HOME}/@ada'>@ada</a></p>", "sensitive": False,
        "url": f"{eve['id']}/posts/{number}/", "to": ["as:Public"], "cc": [ADA],
        "tag": [{"type": "Mention", "href": ADA, "name": "@ada@home.test"}],
    }  # fmt: skip
    return note if edited is None else note | {"updated": edited.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def takahe_votes(eve: Document, poll: str, options: list[str]) -> list[Document]:
    """The Create has the id of its Note."""
    return [
        {
            "to": ADA, "cc": [], "type": "Create", "id": f"{eve['id']}#vote/{number}", "actor": eve["id"],
            "object": {
                "type": "Note", "id": f"{eve['id']}#vote/{number}", "to": ADA, "name": option, "inReplyTo": poll,
                "attributedTo": eve["id"],
            },
        }
        for number, option in enumerate(options)
    ]  # fmt: skip


def hollo_note(eve: Document, number: int, text: str, edited: datetime | None) -> Document:
    """Lists of one are no lists, the source is there, and the time of an edit is missing if it is that of the post."""
    note: Document = {
        "@context": ["https://www.w3.org/ns/activitystreams", {"Hashtag": "as:Hashtag", "sensitive": "as:sensitive"}],
        "id": f"{eve['id']}/0199{number}", "type": "Note", "attributedTo": eve["id"], "to": ["as:Public", ADA],
        "content": f"<p>{text}</p>\n", "contentMap": {"en": f"<p>{text}</p>\n"}, "published": whole(second()),
        "source": {"type": "Source", "content": text, "mediaType": "text/markdown"}, "sensitive": False,
        "tag": {"type": "Mention", "href": ADA, "name": "@ada@home.test"}, "url": f"{eve['id']}/0199{number}",
        "replies": f"{eve['id']}/0199{number}#replies", "shares": {"type": "Collection", "totalItems": 0},
        "interactionPolicy": {"canQuote": {"automaticApproval": "as:Public"}},
    }  # fmt: skip
    return note if edited is None else note | {"updated": note["published"]}


def hollo_votes(eve: Document, poll: str, options: list[str]) -> list[Document]:
    return [
        {
            "type": "Create", "id": f"{eve['id']}#votes/1/{number}/activity", "actor": eve["id"], "to": ADA,
            "object": {
                "id": f"{eve['id']}#votes/1/{number}", "type": "Note", "attributedTo": eve["id"], "inReplyTo": poll,
                "name": option, "to": ADA,
            },
        }
        for number, option in enumerate(options)
    ]  # fmt: skip


def snac_note(eve: Document, number: int, text: str, edited: datetime | None) -> Document:
    """Whole seconds, empty texts in place of none, and one tag that is no list."""
    note: Document = {
        "type": "Note", "attributedTo": eve["id"], "id": f"{eve['id']}/p/1764000000.{number:06}", "summary": "",
        "published": whole(second()), "context": f"{eve['id']}/p/1764000000.{number:06}#ctxt", "inReplyTo": None,
        "content": f"{text}<br>", "sourceContent": text, "url": f"{eve['id']}/p/1764000000.{number:06}",
        "to": PUBLIC, "cc": [ADA, eve["followers"]],
        "tag": {"type": "Mention", "href": ADA, "name": "@ada@home.test"},
    }  # fmt: skip
    return note if edited is None else note | {"updated": whole(edited)}


def snac_votes(eve: Document, poll: str, options: list[str]) -> list[Document]:
    """An empty line as its text, and the author is mentioned."""
    return [
        {
            "type": "Create", "id": f"{eve['id']}/p/17640001.{number}/Create", "actor": eve["id"], "to": ADA,
            "object": snac_note(eve, 900 + number, "", None) | {
                "content": "<br>", "name": option, "inReplyTo": poll, "to": ADA, "cc": [],
            },
        }
        for number, option in enumerate(options)
    ]  # fmt: skip


def gotosocial_note(eve: Document, number: int, text: str, edited: datetime | None) -> Document:
    """Whole seconds, single addressees as texts, and descriptions of files in their summary."""
    note: Document = {
        "type": "Note", "id": f"{eve['id']}/statuses/01JXT{number}", "attributedTo": eve["id"],
        "url": f"{eve['id']}/statuses/01JXT{number}", "published": whole(second()), "content": f"<p>{text}</p>",
        "contentMap": {"en": f"<p>{text}</p>"}, "sensitive": False, "summary": "", "to": PUBLIC,
        "cc": [eve["followers"], ADA], "tag": {"type": "Mention", "href": ADA, "name": "@ada@home.test"},
        "interactionPolicy": {"canLike": {"always": PUBLIC, "approvalRequired": []}},
        "attachment": {"type": "Image", "mediaType": "image/png", "url": "https://peer.test/a.png", "summary": "a cat"},
        "replies": {"type": "Collection", "first": {"type": "CollectionPage", "items": []}},
    }  # fmt: skip
    return note if edited is None else note | {"updated": whole(edited)}


def gotosocial_votes(eve: Document, poll: str, options: list[str]) -> list[Document]:
    """All choices are in one Create."""
    notes = [
        {
            "type": "Note", "id": f"{eve['id']}#01JXV{number}/votes/{poll}", "attributedTo": eve["id"],
            "inReplyTo": poll, "name": option, "to": ADA,
        }
        for number, option in enumerate(options)
    ]  # fmt: skip
    activity = {"type": "Create", "id": f"{eve['id']}#01JXV/votes/{poll}/activity", "actor": eve["id"], "to": ADA}
    return [activity | {"object": notes if len(notes) > 1 else notes[0]}]


def by_uri(eve: Document, note: Document) -> Document:
    return {"type": "Delete", "id": f"{note['id']}#delete", "actor": eve["id"], "object": note["id"], "to": PUBLIC}


def by_document(eve: Document, note: Document) -> Document:
    return by_uri(eve, note) | {"object": note}


def by_tombstone(eve: Document, note: Document) -> Document:
    return by_uri(eve, note) | {"object": {"type": "Tombstone", "id": note["id"]}}


SERVERS = {
    "Takahē": Software(
        takahe_note, lambda eve: f"{eve['id']}follow/64754357/", lambda eve, follow: f"{eve['id']}follow/7/#accept",
        lambda note: f"{note['id']}#create", lambda note, _: f"{note['id']}#update", by_document, takahe_votes,
    ),
    "Hollo": Software(
        hollo_note, lambda eve: f"{eve['id']}#follows/{ADA}", lambda eve, follow: f"{eve['id']}#accepts/{ADA}",
        lambda note: f"{note['id']}#create", lambda note, number: f"{note['id']}#update-2026-11-2{number}T10:00:00Z",
        by_tombstone, hollo_votes,
    ),
    "snac": Software(
        snac_note, lambda eve: f"{eve['id']}/0123456789abcdef/Follow", lambda eve, follow: f"{follow}/Accept",
        lambda note: f"{note['id']}/Create", lambda note, number: f"{note['id']}/Update/{number}",
        by_tombstone, snac_votes,
    ),
    "GoToSocial": Software(
        gotosocial_note, lambda eve: f"{eve['id']}/follow/01JXF", lambda eve, follow: f"{eve['id']}/accepts/01JXA",
        lambda note: f"{note['id']}/activity#Create", lambda note, number: f"{note['id']}#updates/01JXU{number}",
        by_uri, gotosocial_votes,
    ),
}  # fmt: skip


@pytest.fixture(params=SERVERS.values(), ids=list(SERVERS))
def software(request: pytest.FixtureRequest) -> Software:
    return request.param


def create(software: Software, eve: Document, note: Document) -> Document:
    return {
        "type": "Create", "id": software.create_id(note), "actor": eve["id"], "to": note["to"],
        "cc": note.get("cc", []), "published": note["published"], "object": note,
    }  # fmt: skip


def update(software: Software, eve: Document, note: Document, number: int) -> Document:
    return create(software, eve, note) | {"type": "Update", "id": software.update_id(note, number)}


async def test_they_follow_and_unfollow(stage: Stage, ada: Person, peer: ForeignServer, software: Software) -> None:
    eve = peer.person("eve")
    follow = {"type": "Follow", "id": software.follow_id(eve), "actor": eve["id"], "object": ADA}
    for number in range(2):
        await take(stage, follow, late=timedelta(minutes=number))
        (follower,) = await ada.done("GET", f"/api/v1/accounts/{ada.id}/followers")
        assert follower["uri"] == eve["id"]
        undo = {"type": "Undo", "id": f"{follow['id']}#undo{number}", "actor": eve["id"], "object": follow}
        await take(stage, undo)
        assert await ada.done("GET", f"/api/v1/accounts/{ada.id}/followers") == []


async def test_they_are_followed_and_home_begins(
    stage: Stage, ada: Person, peer: ForeignServer, software: Software
) -> None:
    eve = peer.person("eve")
    before = software.note(eve, 1, "before", None)
    peer.collection(eve["outbox"], [create(software, eve, before)])
    id = await followed(ada, peer)
    (relation,) = await ada.done("GET", f"/api/v1/accounts/relationships?id[]={id}")
    assert (relation["following"], relation["requested"]) == (False, True)
    ((uri,),) = await stage.rows("SELECT uri FROM follow_requests")
    asked = {"type": "Follow", "id": uri, "actor": ADA, "object": eve["id"]}
    accept_id = software.accept_id(eve, uri)
    await take(stage, {"type": "Accept", "id": accept_id, "actor": eve["id"], "object": asked, "to": ADA})
    await until_done(stage)
    (relation,) = await ada.done("GET", f"/api/v1/accounts/relationships?id[]={id}")
    assert (relation["following"], relation["requested"]) == (True, False)
    assert [one["uri"] for one in await ada.done("GET", "/api/v1/timelines/home")] == [before["id"]]
    assert await ada.done("GET", "/api/v1/notifications") == []


async def test_they_edit_twice_within_a_second(
    stage: Stage, ada: Person, peer: ForeignServer, software: Software
) -> None:
    eve, at = peer.person("eve"), second()
    await take(stage, create(software, eve, software.note(eve, 1, "one", None)))
    for number, text in enumerate(("two", "three")):
        edited = at + timedelta(milliseconds=number)
        await take(stage, update(software, eve, software.note(eve, 1, text, edited), number))
    ((id,),) = await stage.rows("SELECT id FROM statuses")
    states = await ada.done("GET", f"/api/v1/statuses/{id}/history")
    assert [one for one in ("one", "two", "three") if any(one in state["content"] for state in states)] == [
        "one", "two", "three",
    ]  # fmt: skip
    assert len(states) == 3
    shown = await ada.done("GET", f"/api/v1/statuses/{id}")
    assert ("three" in shown["content"], shown["edited_at"] is not None) == (True, True)
    assert (shown["visibility"], shown["mentions"][0]["acct"]) == ("public", "ada")


async def test_they_vote(stage: Stage, ada: Person, peer: ForeignServer, software: Software) -> None:
    eve = peer.person("eve")
    poll = {"options": ["tea", "coffee", "milk"], "expires_in": 3600, "multiple": True}
    status = await ada.done("POST", "/api/v1/statuses", json={"status": "which?", "poll": poll})
    for _ in range(2):
        for vote in software.votes(eve, status["uri"], ["tea", "milk"]):
            await take(stage, vote)
        options = (await ada.done("GET", f"/api/v1/polls/{status['poll']['id']}"))["options"]
        assert [one["votes_count"] for one in options] == [1, 0, 1]
    assert await ada.done("GET", "/api/v1/notifications?types[]=mention") == []
    assert await ada.done("GET", "/api/v1/conversations") == []


async def test_they_delete(stage: Stage, ada: Person, peer: ForeignServer, software: Software) -> None:
    eve, note = peer.person("eve"), software.note(peer.person("eve"), 1, "regretted", None)
    await take(stage, create(software, eve, note))
    assert len(await ada.done("GET", "/api/v1/notifications?types[]=mention")) == 1
    await take(stage, software.delete(eve, note))
    await take(stage, create(software, eve, note), late=timedelta(minutes=1))
    assert await ada.done("GET", "/api/v1/notifications?types[]=mention") == []


async def test_hollo_quotes(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """Its post has no quote until the author has accepted it, and then a line that names it."""
    stage.outbox.add(QueueWithContext(DELIVERIES, None))
    eve, hollo = peer.person("eve"), SERVERS["Hollo"]
    mine = await ada.publish("quote me", quote_approval_policy="public")
    plain = hollo.note(eve, 1, "look", None)
    line = f'<p class="quote-inline">RE: <a href="{mine["url"]}">{mine["url"]}</a></p>'
    quoting = plain | {
        "content": plain["content"] + line, "contentMap": {"en": plain["content"] + line},
        "quote": mine["uri"], "quoteUrl": mine["uri"],
    }  # fmt: skip
    await take(stage, create(hollo, eve, plain))
    request = {
        "type": "QuoteRequest", "id": f"{plain['id']}#quote-request", "actor": eve["id"], "object": mine["uri"],
        "instrument": quoting,
    }  # fmt: skip
    await take(stage, request)
    ((kind, stamp),) = await stage.rows(
        "SELECT body::jsonb->>'type', body::jsonb->>'result' FROM activities "
        "WHERE body::jsonb->'object'->>'type' = 'QuoteRequest'"
    )
    assert (kind, stamp is not None) == ("Accept", True)
    settled = quoting | {"quoteAuthorization": stamp, "updated": whole(second() + timedelta(seconds=1))}
    await take(stage, update(hollo, eve, settled, 1))
    (shown,) = await ada.done("GET", f"/api/v1/statuses/{mine['id']}/quotes")
    assert (shown["uri"], shown["quote"]["state"], shown["edited_at"]) == (plain["id"], "accepted", None)

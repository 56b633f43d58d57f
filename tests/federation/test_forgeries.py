"""Forged, tampered, misaddressed, replayed and oversized deliveries: each is answered as it should be, and changes
nothing.

CVE classes 1, 3, 4, 5, 16, 20, 29 and others, as the rows say.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from troupe.actors.activitypub.keys import public_pem

from ..activitypub.spelled import SPELLINGS
from ..clients import Person, Reply, Stage
from ..signing import another_key, private_key
from .delivering import (
    HOME,
    PUBLIC,
    act,
    applied,
    create,
    deliver,
    deliver_signed_in_part,
    follow,
    note,
    take,
    vote,
)
from .peer import ForeignServer

# What any forgery could want to change.
STATE = {
    "accounts": "SELECT uri, display_name, public_key, moved_to_id, suspended_at, deleted_at FROM accounts",
    "follows": "SELECT account_id, target_account_id FROM follows",
    "follow_requests": "SELECT account_id, target_account_id FROM follow_requests",
    "blocks": "SELECT account_id, target_account_id FROM blocks",
    "statuses": "SELECT uri, content, spoiler_text, visibility, edited_at, deleted_at FROM statuses",
    "favourites": "SELECT account_id, status_id FROM favourites",
    "votes": "SELECT account_id, poll_id, position FROM poll_votes",
    "pins": "SELECT account_id, status_id FROM pins",
    "notifications": "SELECT account_id, from_account_id, type, status_id FROM notifications",
    "reports": "SELECT account_id, target_account_id FROM reports",
    "media": "SELECT remote_url FROM media_attachments",
    "foreign tombstones": """
        SELECT uri FROM tombstones WHERE split_part(uri, '/', 3) <> split_part(by_uri, '/', 3)
    """,
    "waiting": "SELECT id FROM outbox WHERE queue = 'inbox'",
}


@dataclass
class World:
    """Ada follows eve and is followed by her; mallory, on another server, is known and nothing else."""

    stage: Stage
    peer: ForeignServer
    ada: Person
    eve: dict[str, Any]
    sister: dict[str, Any]  # on eve's server
    mallory: dict[str, Any]
    known: dict[str, Any]  # a post of eve's that is stored
    post: str  # a public post of ada's, with eve's favourite and boost
    letter: str  # one for her followers
    poll: str
    before: dict[str, Any] = field(default_factory=dict[str, Any])  # an attempt

    async def state(self) -> dict[str, Any]:
        return {name: sorted(map(repr, await self.stage.rows(query))) for name, query in STATE.items()}


@pytest.fixture
async def world(stage: Stage, ada: Person, peer: ForeignServer) -> World:
    eve, sister, mallory = peer.person("eve"), peer.person("sister"), peer.person("mallory", "other.test")
    for someone in (sister, mallory):
        await take(stage, follow(someone, "ada"))
        await take(stage, act(someone, "Undo", follow(someone, "ada")))
    await take(stage, follow(eve, "ada"))
    found = (await ada.get("/api/v2/search", query_string={"q": eve["id"], "resolve": "true"})).json["accounts"]
    await ada.post(f"/api/v1/accounts/{found[0]['id']}/follow")
    asked = {"type": "Follow", "actor": f"{HOME}/users/ada", "object": eve["id"]}
    await take(stage, act(eve, "Accept", asked))
    known = note(eve, 1)
    peer.serve(known["id"], known)
    await take(stage, create(eve, known))
    post = (await ada.post("/api/v1/statuses", json={"status": "hello"})).json["uri"]
    letter = (await ada.post("/api/v1/statuses", json={"status": "psst", "visibility": "private"})).json["uri"]
    asking = {"options": ["tea", "coffee"], "expires_in": 600}
    poll = (await ada.post("/api/v1/statuses", json={"status": "which?", "poll": asking})).json["uri"]
    await take(stage, act(eve, "Like", post))
    await take(stage, act(eve, "Announce", post, to=[PUBLIC]))
    return World(stage, peer, ada, eve, sister, mallory, known, post, letter, poll)


Attempt = Callable[[World], Awaitable[Reply]]


def wish(world: World) -> dict[str, Any]:
    """What would change something if it were taken: a post by eve, whom ada follows."""
    return create(world.eve, note(world.eve, 99))


def tampered(**how: Any) -> Attempt:
    return lambda world: deliver(world.stage, wish(world), **how)


def signing(*parts: str, **headers: str) -> Attempt:
    return lambda world: deliver_signed_in_part(world.stage, wish(world), parts, **headers)


def raw(body: bytes) -> Attempt:
    return lambda world: deliver(world.stage, body, signer=world.eve["id"])


def with_fields(**fields: Any) -> Attempt:
    """The wish with other fields, signed by eve."""
    return lambda world: deliver(world.stage, wish(world) | fields, signer=world.eve["id"])


ALL = ("(request-target)", "host", "date", "digest", "content-type")


async def of_a_stolen_key(world: World) -> Reply:
    """The key's document is on another server than the owner that it names."""
    key_id = world.peer.url("/key", "other.test")
    document = {"id": key_id, "owner": world.eve["id"], "publicKeyPem": public_pem(private_key())}
    world.peer.serve(key_id, document)
    return await deliver(world.stage, wish(world), key_id=key_id)


async def of_an_unnamed_key(world: World) -> Reply:
    """The key is on eve's server, and eve's document does not name it."""
    key_id = world.peer.url("/key")
    document = {"id": key_id, "owner": world.eve["id"], "publicKeyPem": public_pem(private_key())}
    world.peer.serve(key_id, document)
    return await deliver(world.stage, wish(world), key_id=key_id)


async def of_an_uploaded_file(world: World) -> Reply:
    """CVE class 2: a file that a user has uploaded says that it is an actor."""
    uri = world.peer.url("/media/cat.png")
    actor = world.eve | {"id": uri, "publicKey": {"id": f"{uri}#main-key", "owner": uri}}
    world.peer.serve(uri, actor, "image/png")
    return await deliver(world.stage, wish(world) | {"actor": uri})


async def of_a_suspended_server(world: World) -> Reply:
    await _block(world, world.peer.domain_of("bad.test"))
    return await deliver(world.stage, wish(world) | {"actor": f"https://{world.peer.domain_of('bad.test')}/users/x"})


async def of_a_suspended_subdomain(world: World) -> Reply:
    """CVE class 16: another spelling of a suspended domain."""
    return await deliver(world.stage, wish(world) | {"actor": "https://A.B.bad.test./users/x"})


async def by_a_key_of_a_suspended_server(world: World) -> Reply:
    return await deliver(world.stage, wish(world), key_id="https://keys.bad.test/key")


async def _block(world: World, domain: str) -> None:
    name = domain.partition(":")[0]
    columns = "id, domain, severity, reject_media, reject_reports, obfuscate, created_at"
    values = "1, $1, 'suspend', true, true, false, now()"
    await world.stage.sql(f"INSERT INTO blocked_domains ({columns}) VALUES ({values})", name)
    await world.stage.http_context.blocks.reload()


REFUSED: list[tuple[str, int, Attempt]] = [
    ("without a signature", 401, tampered(headers={"Signature": None})),
    ("with an empty signature", 401, tampered(headers={"Signature": ""})),
    ("with a signature of nothing", 401, tampered(headers={"Signature": 'keyId="",signature=""'})),
    ("with a broken signature", 401, tampered(headers={"Signature": 'keyId="https://peer.test/x",signature="!"'})),
    ("without a date", 401, tampered(headers={"Date": None})),
    ("with an old date", 401, tampered(late=timedelta(hours=2))),
    ("with a date to come", 401, tampered(late=timedelta(hours=-2))),
    ("with another date than the signed one", 401, tampered(headers={"Date": "Mon, 01 Jan 2024 00:00:00 GMT"})),
    ("without a digest", 401, tampered(headers={"Digest": None})),
    ("with another body", 401, tampered(body=b'{"type": "Create", "actor": "https://peer.test/users/eve"}')),
    ("with a digest of nothing", 401, tampered(headers={"Digest": "SHA-256="})),
    ("with a weak digest", 401, tampered(headers={"Digest": "MD5=1B2M2Y8AsgTpgAmY7PhCfg=="})),
    ("for another host", 401, tampered(headers={"Host": "elsewhere.test"})),
    ("for another inbox", 401, tampered(signed_path="/users/ada/inbox")),
    ("for another method", 401, tampered(method="PUT")),
    ("with another key", 401, tampered(key=another_key())),
    ("by RFC 9421 with another key", 401, tampered(key=another_key(), scheme="rfc9421")),
    (
        "by RFC 9421 with another body",
        401,
        tampered(scheme="rfc9421", body=b'{"actor": "https://peer.test/users/eve"}'),
    ),
    ("by RFC 9421 without a digest", 401, tampered(scheme="rfc9421", headers={"Content-Digest": None})),
    ("by RFC 9421 for another inbox", 401, tampered(scheme="rfc9421", signed_path="/users/ada/inbox")),
    ("by RFC 9421 too old", 401, tampered(scheme="rfc9421", late=timedelta(hours=2))),
    ("by RFC 9421 without its input", 401, tampered(scheme="rfc9421", headers={"Signature-Input": None})),
    ("signed without the target", 401, signing("host", "date", "digest")),
    ("signed without the host", 401, signing("(request-target)", "date", "digest")),
    ("signed without a time", 401, signing("(request-target)", "host", "digest")),
    ("signed without the digest", 401, signing("(request-target)", "host", "date")),
    ("signed for another host", 401, signing(*ALL, host="elsewhere.test")),
    (
        "with a key that is not there",
        401,
        lambda world: deliver(world.stage, wish(world), key_id=world.peer.url("/nobody")),
    ),
    ("with a key that is no address", 401, tampered(key_id="acct:eve@peer.test")),
    ("with a key here", 401, tampered(key_id=f"{HOME}/users/ada#main-key")),
    ("with a key of another server", 401, of_a_stolen_key),
    ("with a key that its owner does not name", 401, of_an_unnamed_key),
    ("of an uploaded file", 401, of_an_uploaded_file),
    ("too large", 413, raw(b'{"actor": "' + b"x" * 1024 * 1024 + b'"}')),
    ("that is no JSON", 400, raw(b"hello")),
    ("that is empty", 400, raw(b"")),
    ("that is a list", 400, raw(b"[]")),
    ("that is a text", 400, raw(b'"Create"')),
    ("of bytes that are no text", 400, raw(b'{"actor": "\xff\xfe"}')),
    ("nested without end", 400, raw(b'{"a":' * 60 + b"1" + b"}" * 60)),
    ("with a graph", 400, with_fields(**{"@graph": []})),
    ("with an inner graph", 400, with_fields(object={"@included": []})),
    ("with reversed properties", 400, with_fields(object={"tag": [{"@reverse": {}}]})),
    ("without an actor", 400, with_fields(actor=None)),
    ("with a number for an actor", 400, with_fields(actor=7)),
    ("with two actors", 400, with_fields(actor=["https://a.test/1", "https://b.test/2"])),
    ("with a script for an actor", 400, with_fields(actor="javascript:alert(1)")),
    ("with an endless name for an actor", 400, with_fields(actor="https://peer.test/" + "x" * 3000)),
    ("of a suspended server", 403, of_a_suspended_server),
    ("of a part of a suspended server", 403, of_a_suspended_subdomain),
    ("with a key of a suspended server", 403, by_a_key_of_a_suspended_server),
    ("to nobody's inbox", 404, tampered(path="/users/nobody/inbox")),
]


def by_mallory(make: Callable[[World], dict[str, Any]]) -> Attempt:
    return lambda world: deliver(world.stage, make(world), signer=world.mallory["id"])


def by_the_sister(make: Callable[[World], dict[str, Any]]) -> Attempt:
    return lambda world: deliver(world.stage, make(world), signer=world.sister["id"])


def by_eve(make: Callable[[World], dict[str, Any]]) -> Attempt:
    return lambda world: deliver(world.stage, make(world), signer=world.eve["id"])


def edited(world: World) -> dict[str, Any]:
    return world.known | {"content": "<p>defaced</p>", "updated": "2099-01-01T00:00:00Z"}


async def a_repeat_after_the_end(world: World) -> Reply:
    """A deleted post whose Create is delivered again."""
    post = note(world.eve, 98)
    await take(world.stage, create(world.eve, post))
    await take(world.stage, act(world.eve, "Delete", post["id"], "98"))
    world.before = await world.state()
    return await deliver(world.stage, create(world.eve, post) | {"id": f"{world.eve['id']}#again"})


async def an_older_edit(world: World) -> Reply:
    """A post has several states, and one of them is delivered after a later one."""
    newer = world.known | {"content": "<p>better</p>", "updated": "2026-01-02T00:00:00Z"}
    await take(world.stage, act(world.eve, "Update", newer, 97))
    world.before = await world.state()
    return await deliver(world.stage, act(world.eve, "Update", edited(world) | {"updated": "2026-01-01T00:00:00Z"}, 96))


# Signed well, and not what the signer may say or do.
WITHOUT_EFFECT: list[tuple[str, Attempt]] = [
    ("a follow in another's name", by_mallory(lambda w: follow(w.sister, "ada", 7))),
    ("a follow in a local name", by_mallory(lambda w: act({"id": f"{HOME}/users/bob"}, "Follow", w.eve["id"]))),
    ("a follow of an account elsewhere", by_mallory(lambda w: act(w.mallory, "Follow", w.eve["id"]))),
    ("a follow of nobody", by_mallory(lambda w: follow(w.mallory, "nobody", 7))),
    ("a follow of the server", by_mallory(lambda w: act(w.mallory, "Follow", f"{HOME}/actor"))),
    ("a follow of a post", by_mallory(lambda w: act(w.mallory, "Follow", w.post))),
    ("a post in another's name", by_mallory(lambda w: create(w.eve, note(w.eve, 7)))),
    ("another's post", by_mallory(lambda w: create(w.mallory, note(w.eve, 7)))),
    ("a post under another server's id", by_mallory(
        lambda w: create(w.mallory, note(w.mallory, 7, id=f"{w.eve['id']}/statuses/7", inReplyTo=w.post))
    )),
    ("a post under a known id", by_mallory(lambda w: create(w.mallory, note(w.mallory, 7, id=w.known["id"])))),
    ("a post under an id of this server", by_mallory(
        lambda w: create(w.mallory, note(w.mallory, 7, id=w.post, inReplyTo=w.post))
    )),
    ("a post by two authors", by_mallory(
        lambda w: create(w.mallory, note(w.mallory, 7, attributedTo=[w.eve["id"], w.mallory["id"]], inReplyTo=w.post))
    )),
    ("a post by nobody", by_mallory(lambda w: create(w.mallory, note(w.mallory, 7, attributedTo=None)))),
    ("a post without an id", by_mallory(lambda w: create(w.mallory, note(w.mallory, id=None, inReplyTo=w.post)))),
    ("a post with an endless id", by_mallory(
        lambda w: create(w.mallory, note(w.mallory, id=f"{w.mallory['id']}/{'x' * 3000}", inReplyTo=w.post))
    )),
    ("a post that is named on another server", by_mallory(lambda w: act(w.mallory, "Create", w.known["id"]))),
    ("a post that names nobody here", by_mallory(lambda w: create(w.mallory, note(w.mallory, 7)))),
    ("an edit of another's post", by_mallory(lambda w: act(w.mallory, "Update", edited(w)))),
    ("an edit in another's name", by_mallory(lambda w: act(w.eve, "Update", edited(w)))),
    ("an edit by another on the same server", by_the_sister(lambda w: act(w.sister, "Update", edited(w)))),
    ("an edit that takes a post over", by_the_sister(
        lambda w: act(w.sister, "Update", edited(w) | {"attributedTo": w.sister["id"]})
    )),
    ("an edit of a post of this server", by_eve(lambda w: act(w.eve, "Update", edited(w) | {"id": w.post}))),
    ("an older edit", an_older_edit),
    ("another's new profile", by_mallory(lambda w: act(w.mallory, "Update", w.eve | {"name": "Defaced"}))),
    ("a deletion of another's post", by_mallory(lambda w: act(w.mallory, "Delete", w.known["id"]))),
    ("a deletion by a tombstone", by_mallory(
        lambda w: act(w.mallory, "Delete", {"type": "Tombstone", "id": w.known["id"]})
    )),
    ("a deletion in another's name", by_mallory(lambda w: act(w.eve, "Delete", w.known["id"]))),
    ("a deletion by another on the same server", by_the_sister(lambda w: act(w.sister, "Delete", w.known["id"]))),
    ("a deletion of a post of this server", by_eve(lambda w: act(w.eve, "Delete", w.post))),
    ("a deletion of another account", by_mallory(lambda w: act(w.mallory, "Delete", w.eve["id"]))),
    ("a deletion of an account in its name", by_mallory(lambda w: act(w.eve, "Delete", w.eve["id"]))),
    ("a deletion of an account of this server", by_eve(lambda w: act(w.eve, "Delete", f"{HOME}/users/ada"))),
    ("the end of another's follow", by_mallory(lambda w: act(w.mallory, "Undo", follow(w.eve, "ada")))),
    ("the end of a follow in another's name", by_mallory(lambda w: act(w.eve, "Undo", follow(w.eve, "ada")))),
    ("the end of a follow by its id", by_mallory(lambda w: act(w.mallory, "Undo", follow(w.eve, "ada")["id"]))),
    ("the end of a neighbour's follow", by_the_sister(lambda w: act(w.sister, "Undo", follow(w.eve, "ada")["id"]))),
    ("the end of another's favourite", by_mallory(lambda w: act(w.mallory, "Undo", act(w.eve, "Like", w.post)))),
    ("the end of another's boost", by_the_sister(lambda w: act(w.sister, "Undo", f"{w.eve['id']}#Announce/1"))),
    ("an acceptance for another", by_mallory(
        lambda w: act(w.mallory, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": w.eve["id"]})
    )),
    ("an acceptance without a request", by_mallory(
        lambda w: act(w.mallory, "Accept", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": w.mallory["id"]})
    )),
    ("an acceptance by its own id", by_mallory(lambda w: act(w.mallory, "Accept", f"{HOME}/users/ada#follows/1"))),
    ("a rejection for another", by_mallory(
        lambda w: act(w.mallory, "Reject", {"type": "Follow", "actor": f"{HOME}/users/ada", "object": w.eve["id"]})
    )),
    ("a block in another's name", by_mallory(lambda w: act(w.eve, "Block", f"{HOME}/users/ada"))),
    ("a pin on another's profile", by_mallory(
        lambda w: act(w.mallory, "Add", w.known["id"], target=w.eve["featured"])
    )),
    ("another's post as an own pin", by_the_sister(
        lambda w: act(w.sister, "Add", w.known["id"], target=w.sister["featured"])
    )),
    ("a favourite of what is not for one", by_mallory(lambda w: act(w.mallory, "Like", w.letter))),
    ("a boost of what is not for all", by_eve(lambda w: act(w.eve, "Announce", w.letter, 7, to=[PUBLIC]))),
    ("a boost of an activity", by_eve(lambda w: act(w.eve, "Announce", act(w.eve, "Like", w.post), 7, to=[PUBLIC]))),
    ("a vote in another's name", by_mallory(lambda w: vote(w.eve, w.poll, "tea"))),
    ("another's vote", by_mallory(lambda w: vote(w.mallory, w.poll, "tea", attributedTo=w.eve["id"]))),
    ("a vote for what is no option", by_eve(lambda w: vote(w.eve, w.poll, "milk"))),
    ("a vote in what is no poll", by_eve(lambda w: vote(w.eve, w.post, "tea"))),
    ("a move of another", by_mallory(lambda w: act(w.mallory, "Move", w.eve["id"], target=w.mallory["id"]))),
    ("a move to a stranger", by_eve(lambda w: act(w.eve, "Move", w.eve["id"], target=w.mallory["id"]))),
    ("a report of nobody", by_mallory(lambda w: act(w.mallory, "Flag", [w.eve["id"], w.known["id"]]))),
    ("a view", by_eve(lambda w: act(w.eve, "View", w.post))),
    ("a reaction of another kind", by_mallory(lambda w: act(w.mallory, "EmojiReact", w.post, content="🎉"))),
    ("a dislike", by_mallory(lambda w: act(w.mallory, "Dislike", w.post))),
    ("an activity without a type", by_eve(lambda w: wish(w) | {"type": None})),
    ("an activity without an object", by_eve(lambda w: wish(w) | {"object": None})),
    ("an activity of odd shapes", by_eve(lambda w: wish(w) | {"type": [7, "Create"], "object": [[], 7, {"type": {}}]})),
    ("a post that comes back", a_repeat_after_the_end),
]  # fmt: skip


async def test_what_is_certainly_wrong_is_refused(world: World) -> None:
    before = await world.state()
    wrong: list[str] = []
    for name, status, attempt in REFUSED:
        reply = await attempt(world)
        await applied(world.stage)
        if reply.status != status or await world.state() != before:
            wrong.append(f"a delivery {name}: {reply.status}, not {status}: {reply.text[:200]}")
    assert wrong == []
    assert world.stage.failures == []


async def test_what_is_signed_well_does_no_more_than_its_signer_may(world: World) -> None:
    assert await effects(world) == []
    assert world.stage.told("outbox.given_up") == []


@pytest.mark.parametrize(
    "name",
    [
        "all as IRIs", "all by aliases", "names of JSON-LD", "types among others", "lists of one", "ids in lists",
        "references as lists of objects", "accounts embedded", "accounts beside groups", "sets",
    ],
)  # fmt: skip
async def test_no_spelling_lets_a_signer_do_more(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    spell = SPELLINGS[name]

    plain = deliver

    async def deliver_spelled(stage: Stage, activity: dict[str, Any], *, signer: str | None = None) -> Reply:
        return await plain(stage, spell(activity), signer=signer or activity["actor"])

    monkeypatch.setitem(globals(), "deliver", deliver_spelled)
    assert await effects(world) == []


async def effects(world: World) -> list[str]:
    """Make all attempts, and return what went wrong with them."""
    wrong: list[str] = []
    for name, attempt in WITHOUT_EFFECT:
        world.before = await world.state()
        reply = await attempt(world)
        await applied(world.stage)
        after = await world.state()
        if reply.status != 202:
            wrong.append(f"{name}: {reply.status}: {reply.text[:200]}")
        wrong += [
            f"{name}: {place} changed: {sorted(set(after[place]) ^ set(rows))}"
            for place, rows in world.before.items()
            if after[place] != rows
        ]
    return wrong


def test_the_matrix_is_large() -> None:
    assert len(REFUSED) + len(WITHOUT_EFFECT) >= 100

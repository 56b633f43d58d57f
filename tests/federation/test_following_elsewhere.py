"""Following an account of another server: what is shown before, and what its answers do, however they are written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext
from troupe.storage.engine.json_values import is_object

from ..clients import Person, Stage
from .delivering import HOME, act, applied, create, deliver, note, take
from .finding import followed, until_done
from .peer import ForeignServer

ADA = f"{HOME}/users/ada"
URI = "SELECT uri FROM follow_requests UNION ALL SELECT uri FROM follows"
ASKED, FOLLOWS, NEITHER = (False, True), (True, False), (False, False)


def standing_in(relation: dict[str, Any]) -> tuple[bool, bool]:
    return relation["following"], relation["requested"]


async def standing(ada: Person, id: str) -> tuple[bool, bool]:
    (relation,) = await ada.done("GET", f"/api/v1/accounts/relationships?id[]={id}")
    return standing_in(relation)


@pytest.mark.parametrize("locked", [False, True])
async def test_only_the_answer_to_a_follow_shows_it_before_it_is_accepted(
    stage: Stage, ada: Person, peer: ForeignServer, *, locked: bool
) -> None:
    """An app shows its button by that answer. All that is asked later says what holds."""
    eve = peer.person("eve", manuallyApprovesFollowers=locked)
    id = await followed(ada, peer)
    path = f"/api/v1/accounts/{id}"
    at_once = ASKED if locked else FOLLOWS
    for terms in ({}, {"reblogs": False}, {}):
        assert standing_in(await ada.done("POST", f"{path}/follow", json=terms)) == at_once
        assert await standing(ada, id) == ASKED
    for way, form in (("mute", {}), ("unmute", {}), ("note", {"comment": "who?"}), ("remove_from_followers", {})):
        assert standing_in(await ada.done("POST", f"{path}/{way}", json=form)) == ASKED, way
    await take(stage, create(eve, note(eve)))
    assert await ada.done("GET", "/api/v1/timelines/home") == [], "a request is no follow"
    assert (await ada.done("GET", "/api/v1/accounts/verify_credentials"))["following_count"] == 0
    assert await ada.done("GET", f"/api/v1/accounts/{ada.id}/following") == []
    await take(stage, act(eve, "Accept", {"type": "Follow", "actor": ADA, "object": eve["id"]}))
    assert await standing(ada, id) == FOLLOWS
    assert standing_in(await ada.done("POST", f"{path}/follow")) == FOLLOWS
    assert (await ada.done("GET", "/api/v1/accounts/verify_credentials"))["following_count"] == 1


@pytest.mark.parametrize("way", ["unfollow", "block"])
async def test_a_request_can_be_withdrawn(stage: Stage, ada: Person, peer: ForeignServer, way: str) -> None:
    """Its late acceptance makes no follow."""
    eve = peer.person("eve")
    id = await followed(ada, peer)
    ((uri,),) = await stage.rows(URI)
    assert standing_in(await ada.done("POST", f"/api/v1/accounts/{id}/{way}")) == NEITHER
    named: list[Any] = [uri, ADA, {"type": "Follow", "id": uri, "actor": ADA, "object": eve["id"]}]
    for number, one in enumerate(named):
        await take(stage, act(eve, "Accept", one, number))
        assert await standing(ada, id) == NEITHER


def own(uri: str, **changes: Any) -> dict[str, Any]:
    return {"type": "Follow", "id": uri, "actor": ADA} | changes


# How servers name the Follow that they answer, by its id. Lemmy and Pixelfed name the account alone at times.
NAMES: dict[str, Callable[[str], Any]] = {
    "its id": lambda uri: uri,
    "in a list": lambda uri: [uri],
    "embedded": lambda uri: own(uri),
    "embedded, with its object": lambda uri: own(uri, object="EVE"),
    "embedded without its actor": lambda uri: {"type": "Follow", "id": uri, "object": "EVE"},
    "embedded without an id": lambda uri: {"type": "Follow", "actor": ADA, "object": "EVE"},
    "embedded with the whole actor": lambda uri: own(uri, actor={"type": "Person", "id": ADA}),
    "embedded with an id of the answering server": lambda uri: own("http://peer.test/follows/1"),
    "an id with another case": lambda uri: uri.replace("https://home.test", "HTTPS://HOME.test"),
    "an id with a port": lambda uri: uri.replace("home.test", "home.test:443"),
    "an id with an escaped sign": lambda uri: uri.replace("#", "%23"),
    "embedded with an escaped sign": lambda uri: own(uri.replace("#", "%23")),
    "embedded without its fragment": lambda uri: own(ADA),
    "the account": lambda uri: ADA,
    "the account's page": lambda uri: f"{HOME}/@ada",
    "the account, embedded": lambda uri: {"type": "Person", "id": ADA},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES.values(), ids=list(NAMES))
@pytest.mark.parametrize("kind", ["Accept", "Reject"])
async def test_an_answer_names_a_follow_in_many_ways(
    stage: Stage, ada: Person, peer: ForeignServer, kind: str, name: Callable[[str], Any]
) -> None:
    eve = peer.person("eve")
    id = await followed(ada, peer)
    ((uri,),) = await stage.rows(URI)
    named = name(uri)
    if is_object(named) and "object" in named:
        named["object"] = eve["id"]
    for number in range(2):
        await take(stage, act(eve, kind, named, number))
        assert await standing(ada, id) == (FOLLOWS if kind == "Accept" else NEITHER)


@pytest.mark.parametrize("kind", ["Accept", "Reject"])
async def test_an_answer_to_a_favourite_or_a_post_is_none_to_a_follow(
    stage: Stage, ada: Person, peer: ForeignServer, kind: str
) -> None:
    """GoToSocial answers them in the same way, and names them by their ids alone."""
    eve = peer.person("eve")
    stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    id, status = await followed(ada, peer), await ada.publish("hello")
    like = f"{ADA}#likes/7"
    named: list[Any] = [like, {"type": "Like", "id": like, "actor": ADA, "object": f"{eve['id']}/1"}, status["uri"]]
    for number, one in enumerate(named):
        await take(stage, act(eve, kind, one, number))
        assert await standing(ada, id) == ASKED, one
    await ada.done("POST", f"/api/v1/accounts/{id}/unfollow")
    before = await stage.rows("SELECT id FROM activities")
    for number, one in enumerate(named, 10):
        await take(stage, act(eve, kind, one, number))
    assert await stage.rows("SELECT id FROM activities") == before, "no end of an unknown follow"


@pytest.mark.parametrize("id", [f"{ADA}#follows/1/accept", None, "accept"])
async def test_an_answer_need_not_have_an_id_of_its_own_server(
    stage: Stage, ada: Person, peer: ForeignServer, id: str | None
) -> None:
    """Funkwhale makes its id of that of the follow."""
    eve = peer.person("eve")
    account = await followed(ada, peer)
    asked = {"type": "Follow", "actor": ADA, "object": eve["id"]}
    await take(stage, {"id": id, "type": "Accept", "actor": eve["id"], "object": asked, "to": [ADA]})
    assert await standing(ada, account) == FOLLOWS


@pytest.mark.parametrize(
    "named", [{"type": "Join", "id": f"{ADA}#follows/1", "actor": ADA}, {"type": "Offer", "id": "x", "actor": ADA}]
)
async def test_an_answer_to_something_else_is_none(
    stage: Stage, ada: Person, peer: ForeignServer, named: dict[str, Any]
) -> None:
    eve = peer.person("eve")
    id = await followed(ada, peer)
    await take(stage, act(eve, "Accept", named))
    assert await standing(ada, id) == ASKED


async def test_an_answer_to_an_earlier_request_does_not_count_for_the_next_one(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve", manuallyApprovesFollowers=True)
    id = await followed(ada, peer)
    ((first,),) = await stage.rows(URI)
    await ada.done("POST", f"/api/v1/accounts/{id}/unfollow")
    await ada.done("POST", f"/api/v1/accounts/{id}/follow")
    for number, named in enumerate((first, own(first), first.replace("#", "%23"))):
        await deliver(stage, act(eve, "Accept", named, number))
        await applied(stage)
        assert await standing(ada, id) == ASKED
    ((second,),) = await stage.rows(URI)
    await take(stage, act(eve, "Accept", second, 9))
    assert await standing(ada, id) == FOLLOWS


# The posts that were there before ------------------------------------------------------------------------------------


def wrapped(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    actor = document["attributedTo"]
    return {"id": f"{document['id']}/activity", "type": "Create", "actor": actor, "object": document} | changes


def posts(eve: dict[str, Any], *minutes: int) -> list[dict[str, Any]]:
    """Public posts of some minutes ago, the newest first."""
    now = datetime.now(UTC)
    return [note(eve, one, published=(now - timedelta(minutes=one)).isoformat()) for one in minutes]


async def accepted(stage: Stage, ada: Person, eve: dict[str, Any], peer: ForeignServer) -> None:
    await followed(ada, peer, eve["preferredUsername"])
    await take(stage, act(eve, "Accept", ADA))
    await until_done(stage)


async def home(ada: Person) -> list[str]:
    return [one["uri"] for one in await ada.done("GET", "/api/v1/timelines/home")]


OUTBOXES: dict[str, Callable[[ForeignServer, dict[str, Any], Any], str]] = {
    "a page at an address": lambda peer, eve, items: peer.collection(
        eve["outbox"], first=peer.collection(f"{eve['outbox']}?page=1", items, type="OrderedCollectionPage")
    ),
    "a page in it": lambda peer, eve, items: peer.collection(
        eve["outbox"], first={"type": "OrderedCollectionPage", "orderedItems": items}
    ),
    "no pages": lambda peer, eve, items: peer.collection(eve["outbox"], items),
}


@pytest.mark.parametrize("outbox", OUTBOXES.values(), ids=list(OUTBOXES))
async def test_home_begins_with_the_latest_posts_once_a_follow_is_accepted(
    stage: Stage, ada: Person, peer: ForeignServer, outbox: Callable[[ForeignServer, dict[str, Any], Any], str]
) -> None:
    """They stand at their own times, between what was there, without notifications, and streams don't show them."""
    eve, fay = peer.person("eve"), peer.person("fay")
    await accepted(stage, ada, fay, peer)
    late = note(fay, 5, published=(datetime.now(UTC) - timedelta(hours=8)).isoformat())
    await take(stage, create(fay, late))
    newest, older, oldest = posts(eve, 1, 60, 60 * 24)
    newest |= {"cc": [ADA], "tag": [{"type": "Mention", "href": ADA, "name": "@ada"}]}
    boost = act(eve, "Announce", late["id"])
    hidden = note(eve, 99, to=[eve["followers"]], cc=[])
    outbox(peer, eve, [wrapped(newest), boost, wrapped(hidden), older, wrapped(oldest, object=oldest["id"])])
    peer.serve(oldest["id"], oldest)
    assert await home(ada) == [late["id"]]
    await accepted(stage, ada, eve, peer)
    assert await home(ada) == [newest["id"], older["id"], late["id"], oldest["id"]]
    assert await ada.done("GET", "/api/v1/notifications?types[]=mention") == []


async def test_posts_since_the_acceptance_are_news_in_their_order(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """As if their server had delivered them: what it delivers too comes between them. Many tell whole seconds."""
    eve = peer.person("eve")
    second = (datetime.now(UTC) + timedelta(seconds=2)).replace(microsecond=0).isoformat()
    first, middle, last = [note(eve, number, published=second) for number in range(3)]
    peer.collection(eve["outbox"], [wrapped(last), wrapped(middle), wrapped(first)])
    await take(stage, create(eve, first | {"cc": [ADA]}))
    between = await ada.done("POST", "/api/v1/statuses", json={"status": "while they travel"})
    await accepted(stage, ada, eve, peer)
    assert await home(ada) == [last["id"], middle["id"], between["uri"], first["id"]]


async def test_latest_posts_are_fetched_once(stage: Stage, ada: Person, bob: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    (known, other) = posts(eve, 1, 2)
    await take(stage, create(eve, known | {"cc": [ADA], "content": "<p>as it came</p>"}))
    peer.collection(eve["outbox"], [wrapped(known), wrapped(other)])
    await accepted(stage, ada, eve, peer)
    asked = len(peer.asked(eve["outbox"]))
    assert await home(ada) == [known["id"], other["id"]]
    assert (await ada.done("GET", "/api/v1/timelines/home"))[0]["content"] == "<p>as it came</p>"
    await take(stage, act(eve, "Accept", ADA, 2))
    await followed(bob, peer)
    await take(stage, act(eve, "Accept", f"{HOME}/users/bob", 3))
    await until_done(stage)
    assert len(peer.asked(eve["outbox"])) == asked
    assert await home(bob) == [known["id"], other["id"]]


async def test_so_many_latest_posts_are_fetched(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    many = posts(eve, *range(1, 41))
    peer.collection(eve["outbox"], [wrapped(one) for one in many])
    await accepted(stage, ada, eve, peer)
    assert await home(ada) == [one["id"] for one in many[:20]]


async def test_what_is_not_of_the_account_is_not_taken_from_its_outbox(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, fay, oscar = peer.person("eve"), peer.person("fay"), peer.person("oscar", "other.test")
    elsewhere = peer.collection(peer.url("/page", "other.test"), [wrapped(note(eve, 3))])
    peer.collection(eve["outbox"], [wrapped(note(fay, 1)), wrapped(note(oscar, 2))], first=elsewhere)
    await accepted(stage, ada, eve, peer)
    assert await stage.rows("SELECT id FROM statuses") == []
    assert not peer.asked(elsewhere)


@pytest.mark.parametrize("outbox", ["hidden", "gone", "missing", "a failure"])
async def test_a_follow_stands_also_if_the_outbox_can_not_be_read(
    stage: Stage, ada: Person, peer: ForeignServer, outbox: str
) -> None:
    eve = peer.person("eve", **({"outbox": None} if outbox == "missing" else {}))
    if outbox == "gone":
        peer.fail(eve["outbox"], 410)
    elif outbox == "a failure":
        peer.fail(eve["outbox"], 503)
    await accepted(stage, ada, eve, peer)
    await take(stage, create(eve, note(eve)))
    assert await home(ada) == [f"{eve['id']}/statuses/1"]


async def test_no_post_is_fetched_for_a_request(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    peer.collection(eve["outbox"], [wrapped(note(eve))])
    await followed(ada, peer)
    await take(stage, act(eve, "Reject", ADA))
    await until_done(stage)
    assert await stage.rows("SELECT id FROM statuses") == []

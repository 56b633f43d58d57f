"""Following an account of another server: what is shown before, and what its answers do, however they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from troupe.actors.activitypub.vocabulary import is_object

from ..clients import Person, Stage
from .delivering import HOME, act, applied, create, deliver, note, take
from .finding import followed
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

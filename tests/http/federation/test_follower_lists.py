"""The followers that another server has: told to an actor of that server, and to no other."""

import pytest

from troupe.http.federation import follower_lists

from ...clients import BASE, Person, Stage
from .peers import ask, peer

LIST = "/users/ada/followers_synchronization"


async def test_a_server_is_told_its_own_followers_alone(stage: Stage, ada: Person) -> None:
    una, tom = await peer(stage), await peer(stage, "tom")
    eve = await peer(stage, "eve", "peer.example.test")
    for follower in (una, eve):
        await follower.follow(ada)
    for asking in (una, tom):
        reply = await asking.get(LIST)
        assert (reply.json["id"], reply.json["orderedItems"]) == (f"{BASE}{LIST}", [una.uri])
        assert reply.headers["Cache-Control"] == "private, no-store"
    assert (await eve.get(LIST)).json["orderedItems"] == [eve.uri]
    assert (await (await peer(stage, "sue", "else.example", known=False)).get(LIST)).json["orderedItems"] == []


async def test_the_name_of_the_host_counts_and_not_that_of_the_handle(stage: Stage, ada: Person) -> None:
    una, sue = await peer(stage), await peer(stage, "sue", "social.peer.example")
    await una.follow(ada)
    await stage.sql("UPDATE accounts SET domain = 'social.peer.example' WHERE uri = $1", una.uri)
    assert (await una.get(LIST)).json["orderedItems"] == [una.uri]
    assert (await sue.get(LIST)).json["orderedItems"] == []


async def test_nobody_is_told_without_a_signature(stage: Stage, ada: Person) -> None:
    una = await peer(stage)
    await una.follow(ada)
    assert (await ask(stage, LIST)).status == 401
    elsewhere = una.signed("/users/bob/followers_synchronization")
    assert (await stage.anybody().get(LIST, headers=elsewhere)).status == 401


async def test_the_followers_of_accounts_that_are_gone_or_suspended_are_not_told(stage: Stage, ada: Person) -> None:
    una = await peer(stage)
    await una.follow(ada)
    assert (await una.get("/users/nobody/followers_synchronization")).status == 404
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", ada.account.id)
    assert (await una.get(LIST)).status == 404
    await stage.sql("UPDATE accounts SET deleted_at = now() WHERE id = $1", ada.account.id)
    assert (await una.get(LIST)).status == 410


async def test_a_suspended_actor_is_told_nothing(stage: Stage, ada: Person) -> None:
    una = await peer(stage)
    await una.follow(ada)
    await stage.sql("UPDATE accounts SET suspended_at = now() WHERE id = $1", una.account.id)
    assert (await una.get(LIST)).status == 403


async def test_a_long_list_has_pages(stage: Stage, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_lists, "PEOPLE", 2)
    people = [await peer(stage, f"una{number}") for number in range(5)]
    for one in people:
        await one.follow(ada)
    whole = (await people[0].get(LIST)).json
    found, page = list[str](), whole["first"]
    while True:
        assert page["partOf"] == whole["id"] == f"{BASE}{LIST}"
        found += page["orderedItems"]
        if "next" not in page:
            break
        page = (await people[0].get(page["next"].removeprefix(BASE))).json
    assert sorted(found) == sorted(one.uri for one in people)

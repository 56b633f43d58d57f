"""Accounts of other servers are found by handle and by address, and stored once they are proven."""

from __future__ import annotations

from typing import Any

import trio

from ..clients import Person, Stage
from ..waiting import until_found, until_none
from .peer import ForeignServer


async def search(person: Person, query: str, **more: Any) -> list[Any]:
    found = await person.get("/api/v2/search", query_string={"q": query, "resolve": "true", **more})
    assert found.status == 200, found.text
    return found.json["accounts"]


async def until_done(stage: Stage) -> None:
    """Wait until nothing is to be fetched any more."""

    async def to_fetch() -> object:
        return stage.http_context.federation.resolver.inspect()["to fetch"]

    await until_none(to_fetch)


async def test_an_account_is_found_by_its_handle(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    document = peer.person("eve", attachment=[{"type": "PropertyValue", "name": "pronouns", "value": "she"}])
    (found,) = await search(ada, f"@eve@{peer.domain}")
    assert found["acct"] == f"eve@{peer.domain}"
    assert (found["uri"], found["url"]) == (document["id"], document["url"])
    assert (found["display_name"], found["note"]) == ("Eve", "<p>eve writes</p>")
    assert found["fields"] == [{"name": "pronouns", "value": "she", "verified_at": None}]
    assert found["created_at"] == "2024-02-03T00:00:00.000Z"
    (signed,) = peer.asked(document["id"])
    assert 'keyId="https://home.test/actor#main-key"' in signed.headers["signature"]


async def test_totals_are_those_that_the_other_server_tells(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    peer.person("eve")
    (found,) = await search(ada, f"eve@{peer.domain}")

    async def totals() -> bool:
        shown = (await ada.get(f"/api/v1/accounts/{found['id']}")).json
        return (shown["statuses_count"], shown["followers_count"], shown["following_count"]) == (1, 2, 3)

    await until_found(totals)


async def test_an_account_is_found_by_its_address_and_by_its_page(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    document = peer.person("eve")
    page = f'<html><head><link rel="alternate" type="application/activity+json" href="{document["id"]}"></head></html>'
    peer.serve(document["url"], page.encode(), "text/html; charset=utf-8")
    assert [one["uri"] for one in await search(ada, document["url"])] == [document["id"]]
    assert [one["uri"] for one in await search(ada, document["id"])] == [document["id"]]
    assert len(peer.asked(document["id"])) == 1


async def test_several_who_search_at_once_cause_one_request(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    document = peer.person("eve")
    held = peer.hold(document["id"])
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(search, ada, f"eve@{peer.domain}")
        await peer.was_asked(document["id"])
        held.set()
    assert len(peer.asked(document["id"])) == 1


async def test_nothing_is_asked_without_resolve(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    peer.person("eve")
    assert await search(ada, f"eve@{peer.domain}", resolve="false") == []
    assert peer.peer.asked == []

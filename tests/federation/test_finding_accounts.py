"""Accounts of other servers are found by handle and by address, and stored once they are proven."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio

from troupe.actors.effects.deliveries import DELIVERIES
from troupe.actors.effects.registry import QueueWithContext
from troupe.http.views import resolving

from ..clients import Person, Stage
from ..http.settling import signed_in
from ..waiting import PATIENCE, until_found
from .delivering import HOME, act, take
from .finding import search, until_done
from .peer import ForeignServer


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


@pytest.mark.parametrize(("type", "bot", "group"), [
    ("Feed", False, True), ("Group", False, True), ("Application", True, False), (["Person", "Feed"], False, True),
])  # fmt: skip
async def test_an_actor_is_of_one_of_several_types(
    ada: Person, peer: ForeignServer, type: Any, bot: bool, group: bool
) -> None:
    peer.person("eve", type=type)
    (found,) = await search(ada, f"@eve@{peer.domain}")
    assert (found["bot"], found["group"]) == (bot, group)


NOTE = {"type": "Note", "name": "Likes", "content": "<p>tea &amp; <b>cake</b></p><script>x</script>"}
LINK = {"type": "Link", "name": "<b>Web</b>", "href": 'https://peer.test/?a="&b', "rel": ["me"]}


@pytest.mark.parametrize(("attached", "fields"), [
    ([NOTE, LINK], [
        ("Likes", "<p>tea &amp; <b>cake</b></p>"),
        ("<b>Web</b>", '<a href="https://peer.test/?a=&quot;&amp;b" target="_blank" rel="nofollow noopener noreferrer">'
         'https://peer.test/?a="&amp;b</a>'),
    ]),
    ([{"type": "Link", "name": "Web", "href": "javascript:alert(1)"}], [("Web", "javascript:alert(1)")]),
    ([NOTE, {"type": "PropertyValue", "name": "Likes", "value": "tea"}], [("Likes", "tea")]),  # for other servers
    ([{"type": "Image", "name": "x", "url": "https://peer.test/x.png"}, {"type": "Link", "href": "x"}], []),
])  # fmt: skip
async def test_fields_may_be_notes_and_links(
    ada: Person, peer: ForeignServer, attached: list[Any], fields: list[tuple[str, str]]
) -> None:
    peer.person("eve", attachment=attached)
    (found,) = await search(ada, f"@eve@{peer.domain}")
    assert [(one["name"], one["value"]) for one in found["fields"]] == fields


async def test_featured_hashtags_are_those_of_the_profile(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    tags = peer.url("/users/eve/collections/tags")
    eve = peer.person("eve", featuredTags=tags)

    async def featured(*items: Any) -> list[str]:
        peer.serve(tags, {"id": tags, "type": "Collection", "items": list(items)})
        (found,) = await search(ada, f"@eve@{peer.domain}")
        await take(stage, act(eve, "Update", eve, str(items)))
        await until_done(stage)
        shown = (await ada.get(f"/api/v1/accounts/{found['id']}/featured_tags")).json
        return [one["name"] for one in shown]

    tea, cake = ({"type": "Hashtag", "name": name} for name in ("#Tea", "#cake"))
    assert await featured(tea, {"type": "Note", "name": "#x"}, "https://peer.test/tags/y", tea) == ["Tea"]
    assert await featured(tea, cake) == ["Tea", "cake"]
    names = [f"t{number}" for number in range(20)]
    assert await featured(*({"type": "Hashtag", "name": f"#{name}"} for name in names)) == names[:10], "in their order"
    peer.fail(tags, 500)
    await take(stage, act(eve, "Update", eve, "again"))
    await until_done(stage)
    assert await stage.rows("SELECT count(*) FROM featured_tags") == [[10]]
    assert await featured() == []
    elsewhere = peer.url("/tags", "other.test")
    peer.serve(elsewhere, {"id": elsewhere, "type": "Collection", "items": [tea]})
    peer.person("eve", featuredTags=elsewhere)
    await take(stage, act(eve, "Update", eve, "elsewhere"))
    await until_done(stage)
    assert await stage.rows("SELECT count(*) FROM featured_tags") == [[0]]


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


async def test_others_than_users_have_nothing_asked(stage: Stage, peer: ForeignServer) -> None:
    query = {"q": f"eve@{peer.domain}", "resolve": "true"}
    for path in ("/api/v2/search", "/api/v1/accounts/search"):
        assert (await stage.anybody().get(path, query_string=query)).status == 401
    assert peer.peer.asked == []


async def test_an_account_that_is_found_in_two_ways_at_once_is_stored_once(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    document = peer.person("eve")
    held = peer.hold(document["id"])
    found: list[Any] = []

    async def find(query: str) -> None:
        found.extend(await search(ada, query))

    async with trio.open_nursery() as nursery:
        for query in (f"eve@{peer.domain}", document["id"]):
            nursery.start_soon(find, query)
        await peer.was_asked(document["id"], 2)
        held.set()
    assert len({one["id"] for one in found}) == 1
    assert len(found) == 2
    assert stage.failures == []


async def test_a_slow_server_does_not_hold_the_answer_for_long(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "PATIENCE", 0.05)
    document = peer.person("eve")
    held = peer.hold(document["id"])
    assert await search(ada, f"eve@{peer.domain}") == []
    held.set()
    await until_found(partial(search, ada, f"eve@{peer.domain}", resolve="false"))
    assert len(peer.asked(document["id"])) == 1, "it went on when the answer was sent"


async def test_an_address_of_this_server_is_found_without_asking(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    made = await bob.publish("hello")
    for url in (f"https://home.test/users/bob/statuses/{made['id']}", f"https://home.test/@bob/{made['id']}"):
        reply = await ada.get("/api/v2/search", query_string={"q": url, "resolve": "true"})
        assert [one["id"] for one in reply.json["statuses"]] == [made["id"]]
    private = await bob.publish("psst", visibility="private")
    url = f"https://home.test/@bob/{private['id']}"
    assert (await ada.get("/api/v2/search", query_string={"q": url, "resolve": "true"})).json["statuses"] == []


async def test_the_search_for_accounts_resolves_handles(ada: Person, peer: ForeignServer) -> None:
    peer.person("eve")
    query = {"q": f"@eve@{peer.domain}", "resolve": "true"}
    reply = await ada.get("/api/v1/accounts/search", query_string=query)
    assert [one["acct"] for one in reply.json] == [f"eve@{peer.domain}"]
    looked_up = await ada.get("/api/v1/accounts/lookup", query_string={"acct": f"eve@{peer.domain}"})
    assert looked_up.json["acct"] == f"eve@{peer.domain}"


async def test_a_mention_of_an_unknown_account_finds_it_first(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    document = peer.person("eve")
    status = await ada.publish(f"hello @eve@{peer.domain} and @nobody@{peer.domain}")
    assert [one["acct"] for one in status["mentions"]] == [f"eve@{peer.domain}"]
    assert document["url"] in status["content"]
    fay = peer.person("fay")
    edited = await ada.put(f"/api/v1/statuses/{status['id']}", {"status": f"hello @fay@{peer.domain}"})
    assert [one["url"] for one in edited.json["mentions"]] == [fay["url"]]
    gus = peer.person("gus")
    browser = await signed_in(stage)
    await browser.send("/share", status=f"hello @gus@{peer.domain}", visibility="public")
    shared = (await ada.get(f"/api/v1/accounts/{ada.id}/statuses")).json[0]
    assert [one["url"] for one in shared["mentions"]] == [gus["url"]]


async def test_a_mention_waits_for_a_slow_server_for_a_short_time(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "MENTION_PATIENCE", 0.05)
    monkeypatch.setattr(resolving, "PATIENCE", 2 * PATIENCE)
    peer.hold(peer.person("eve")["id"])
    with trio.fail_after(PATIENCE):
        assert (await ada.publish(f"hello @eve@{peer.domain}"))["mentions"] == []


async def test_a_post_asks_some_servers_at_most(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    await ada.publish(" ".join(f"@eve{number}@{peer.domain}" for number in range(15)))
    assert len({one.path for one in peer.peer.asked if "webfinger" in one.path}) == resolving.MOST_MENTIONS


RAW = "/users/\u0430\u043d\u043d\u0430"
ENCODED = "/users/%D0%B0%D0%BD%D0%BD%D0%B0"


@pytest.mark.parametrize("own", [RAW, ENCODED, ENCODED.lower()])
@pytest.mark.parametrize("named", [RAW, ENCODED, ENCODED.lower()])
async def test_an_account_has_one_uri_in_ascii_however_it_is_spelled(
    stage: Stage, ada: Person, peer: ForeignServer, own: str, named: str
) -> None:
    """Its document and WebFinger spell it in two ways, people search for it in all, and it signs by its own."""
    document = peer.person("anna")
    key = document["publicKey"] | {"id": peer.url(f"{own}#main-key"), "owner": peer.url(own)}
    document |= {"id": peer.url(own), "inbox": peer.url(f"{own}/inbox"), "publicKey": key}
    for path in (RAW, ENCODED, ENCODED.lower()):
        peer.serve(peer.url(path), document)
    peer.handle("anna", None, peer.url(named))
    uri = peer.url(ENCODED if own == RAW else own)
    assert [one["uri"] for one in await search(ada, f"anna@{peer.domain}")] == [uri]
    for path in (RAW, ENCODED, ENCODED.lower()):
        assert [one["uri"] for one in await search(ada, peer.url(path))] == [uri], path
    follow = {"id": peer.url("/f/1"), "type": "Follow", "actor": peer.url(own), "object": f"{HOME}/users/ada"}
    await take(stage, follow, key_id=peer.url(f"{own}#main-key"))
    follower = "SELECT a.uri, a.inbox_url FROM follows f JOIN accounts a ON a.id = f.account_id"
    assert await stage.rows(follower) == [[uri, f"{uri}/inbox"]]
    assert len(await stage.rows("SELECT id FROM accounts WHERE domain IS NOT NULL")) == 1


async def test_an_actor_may_name_its_whole_handle(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    """FEP-2c59: the domain of the handle is then asked, and the actor's host need not know WebFinger."""
    domain = peer.domain_of("other.test")
    for number, handle in enumerate((f"eve@{domain}", f"acct:fay@{domain}", {"@value": f"gus@{domain}"})):
        name = ("eve", "fay", "gus")[number]
        named = None if number else "someone"
        actor = peer.person(f"u{number}", preferredUsername=named, webfinger=handle)
        peer.fail(peer.webfinger_url(f"u{number}@{peer.domain}"), 404)
        assert await search(ada, actor["id"]) == [], "not proven yet"
        peer.handle(name, "other.test", actor["id"])
        for query in (actor["id"], f"@{name}@{domain}"):
            assert [(one["acct"], one["uri"]) for one in await search(ada, query)] == [
                (f"{name}@{domain}", actor["id"])
            ]
    # A handle that leads to another actor proves nothing, and what is no handle is not one.
    thief = peer.person("thief", webfinger=f"eve@{domain}")
    assert await search(ada, thief["id"]) == []
    for number, odd in enumerate(("https://elsewhere.example", 7, [], "@", "eve@")):
        actor = peer.person(f"odd{number}", webfinger=odd)
        assert [one["acct"] for one in await search(ada, actor["id"])] == [f"odd{number}@{peer.domain}"], odd


async def test_the_inbox_of_a_static_site_may_be_at_a_service(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    """What is delivered is signed for the service. What the service signs with its own key is not the actor's."""
    service = "other.test"
    stage.outbox.add(QueueWithContext(DELIVERIES, None))  # what is to be delivered stays in the rows
    inbox, shared = peer.url("/in/eve", service), peer.url("/in", service)
    eve = peer.person("eve", inbox=inbox, endpoints={"sharedInbox": shared})
    proxy = peer.person("proxy", service)
    (found,) = await search(ada, f"eve@{peer.domain}")
    assert found["uri"] == eve["id"]
    await take(stage, act(eve, "Follow", f"{HOME}/users/bob"), signer=proxy["id"])
    assert (await bob.get(f"/api/v1/accounts/{bob.id}/followers")).json == []
    await take(stage, act(eve, "Follow", f"{HOME}/users/ada", 2))
    assert [one["uri"] for one in (await ada.get(f"/api/v1/accounts/{ada.id}/followers")).json] == [eve["id"]]
    assert await stage.rows("SELECT inbox_url, shared_inbox_url FROM accounts WHERE uri = $1", eve["id"]) == [
        [inbox, shared]
    ]
    await stage.sql("DELETE FROM outbox WHERE queue = 'deliveries'")
    await ada.publish("hello")
    rows = await stage.rows("SELECT payload::jsonb->>'inbox', group_key FROM outbox WHERE queue = 'deliveries'")
    assert rows == [[shared, f"{peer.domain_of(service)} followers"]], "counted for the service's host"

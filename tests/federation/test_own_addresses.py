"""People and other servers name the posts and accounts of this server by any usual address, not by the id alone."""

from __future__ import annotations

from typing import Any

import pytest

from troupe.actors.own_addresses import MOST_ADDRESSES

from ..clients import Person, Stage
from .delivering import HOME, PUBLIC, act, create, note, take
from .peer import ForeignServer

# An account and a status of it, as people paste their addresses.
ACCOUNTS = ("@ada", "@ADA/", "%40ada", "users/ADA", "web/@ada?x=1", "@ada@home.test#top")
STATUSES = ("@ada/{}", "@ADA/{}/", "users/ada/statuses/{}?utm_source=mail", "users/ADA/statuses/{}", "web/statuses/{}",
            "users/ada/statuses/{}/activity", "users/ada/statuses/{}.json",
            "%40ada/{}#reply", "@ada/{}/embed", "@ada@home.test/{}")  # fmt: skip
HOSTS = (f"{HOME}/", "HTTPS://Home.Test/", "http://home.test/", f"{HOME}:443/")

ADDRESSES = [*((HOSTS[0], path) for path in STATUSES), *((host, STATUSES[0]) for host in HOSTS[1:])]
ACTORS = [*((HOSTS[0], path) for path in ACCOUNTS), *((host, ACCOUNTS[0]) for host in HOSTS[1:])]


async def searched(person: Person, address: str) -> dict[str, Any]:
    return await person.done("GET", "/api/v2/search", query_string={"q": address, "resolve": "true"})


async def test_a_search_finds_an_own_post_and_account_by_any_address(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    id = (await ada.publish("hello"))["id"]
    for host, path in ADDRESSES:
        found = await searched(ada, host + path.format(id))
        assert [status["id"] for status in found["statuses"]] == [id], host + path
    for path in ("@ada/{}", "@ADA/{}/"):
        assert [status["id"] for status in (await searched(ada, "home.test/" + path.format(id)))["statuses"]] == [id]
    for host, path in ACTORS:
        assert [account["id"] for account in (await searched(ada, host + path))["accounts"]] == [ada.id], host + path


async def test_a_search_finds_an_own_post_and_account_by_the_page_that_another_server_has_of_them(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    """Mastodon redirects from its page of a post to the server of the author."""
    id, hidden = (await ada.publish("hello"))["id"], (await ada.publish("hello", visibility="private"))["id"]
    for path in ("@ada/{}", "users/ada/statuses/{}"):
        own = f"{HOME}/{path}"
        page = peer.redirect(peer.url("/@ada@home.test/1"), own.format(id))
        assert [status["id"] for status in (await searched(bob, page))["statuses"]] == [id]
        page = peer.redirect(peer.url("/@ada@home.test/2"), own.format(hidden))
        assert (await searched(bob, page))["statuses"] == []
        alternate = f'<link rel="alternate" type="application/activity+json" href="{own.format(id)}">'
        page = peer.serve(peer.url("/@ada@home.test/3"), alternate.encode(), "text/html")
        assert [status["id"] for status in (await searched(bob, page))["statuses"]] == [id]
    page = peer.redirect(peer.url("/@ada@home.test"), f"{HOME}/@ada")
    assert [account["id"] for account in (await searched(bob, page))["accounts"]] == [ada.id]
    nothing = peer.redirect(peer.url("/about"), f"{HOME}/about")
    assert await searched(bob, nothing) == {"accounts": [], "statuses": [], "hashtags": []}


async def test_an_address_tells_no_more_than_the_id(stage: Stage, ada: Person, bob: Person) -> None:
    private = (await ada.publish("hello", visibility="private"))["id"]
    public = (await ada.publish("hello"))["id"]
    for path in STATUSES:
        assert (await searched(bob, f"{HOME}/{path.format(private)}"))["statuses"] == [], path
    for wrong in (
        f"@bob/{public}",
        f"users/bob/statuses/{public}",
        f"@ada@peer.test/{public}",
        f"web/statuses/{10**30}",
    ):
        assert (await searched(ada, f"{HOME}/{wrong}"))["statuses"] == [], wrong


async def test_other_sites_embed_a_post_by_any_address(stage: Stage, ada: Person) -> None:
    id = (await ada.publish("hello"))["id"]
    for host, path in ADDRESSES:
        address = host + path.format(id)
        embedded = await stage.anybody().send("GET", "/api/oembed", query_string={"url": address})
        assert (embedded.status, embedded.json.get("title")) == (200, "Ada: hello"), address


@pytest.mark.parametrize(("host", "path"), ADDRESSES)
async def test_an_answer_a_boost_and_a_favourite_name_a_post_by_any_address(
    stage: Stage, ada: Person, peer: ForeignServer, host: str, path: str
) -> None:
    eve, id = peer.person("eve"), (await ada.publish("hello"))["id"]
    address = host + path.format(id)
    await take(stage, create(eve, note(eve, inReplyTo=address)))
    await take(stage, act(eve, "Announce", address, to=[PUBLIC]))
    await take(stage, act(eve, "Like", {"id": address, "type": "Note"}))
    shown = (await ada.get(f"/api/v1/statuses/{id}")).json
    assert [shown[f"{kind}_count"] for kind in ("replies", "reblogs", "favourites")] == [1, 1, 1]
    told = [one["type"] for one in (await ada.get("/api/v1/notifications")).json]
    assert sorted(told) == ["favourite", "reblog"]
    await take(stage, act(eve, "Undo", act(eve, "Like", address), 2))
    assert (await ada.get(f"/api/v1/statuses/{id}")).json["favourites_count"] == 0


@pytest.mark.parametrize(("host", "path"), ACTORS)
async def test_a_follow_a_mention_and_a_report_name_an_account_by_any_address(
    stage: Stage, ada: Person, peer: ForeignServer, host: str, path: str
) -> None:
    eve, address = peer.person("eve"), host + path
    await take(stage, act(eve, "Follow", address))
    mention = {"type": "Mention", "href": address, "name": "@ada"}
    await take(stage, create(eve, note(eve, tag=[mention], cc=[address])))
    await take(stage, act(eve, "Flag", [address], content="spam"))
    told = sorted(one["type"] for one in (await ada.get("/api/v1/notifications")).json)
    assert told == ["follow", "mention"]
    assert await stage.rows("SELECT count(*) FROM reports") == [[1]]
    await take(stage, act(eve, "Undo", act(eve, "Follow", f"{HOME}/users/ada"), 2))
    assert await stage.rows("SELECT id FROM follows") == []
    await take(stage, act(eve, "Block", address))
    assert await stage.rows("SELECT target_account_id FROM blocks") == [[int(ada.id)]]


async def test_the_activity_of_a_boost_leads_to_the_boosted_post(
    stage: Stage, ada: Person, bob: Person, peer: ForeignServer
) -> None:
    eve, id = peer.person("eve"), (await bob.publish("hello"))["id"]
    boost = await ada.done("POST", f"/api/v1/statuses/{id}/reblog")
    assert boost["uri"] == f"{HOME}/users/ada/statuses/{boost['id']}/activity"
    await take(stage, act(eve, "Like", boost["uri"]))
    assert (await ada.done("GET", f"/api/v1/statuses/{id}"))["favourites_count"] == 1
    await take(stage, act(eve, "Undo", act(eve, "Like", boost["uri"]), 2))
    assert (await ada.done("GET", f"/api/v1/statuses/{id}"))["favourites_count"] == 0


async def test_a_fetched_post_answers_an_own_one_by_its_page(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, id = peer.person("eve"), (await ada.publish("hello"))["id"]
    reply = note(eve, inReplyTo=f"{HOME}/@ada/{id}")
    peer.serve(reply["id"], reply)
    (found,) = (await searched(ada, reply["id"]))["statuses"]
    assert (found["in_reply_to_id"], found["in_reply_to_account_id"]) == (id, ada.id)


async def test_a_quote_names_an_own_post_by_its_page(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    eve, id = peer.person("eve"), (await ada.publish("hello"))["id"]
    mention = {"type": "Mention", "href": f"{HOME}/users/ada", "name": "@ada"}
    quoting = note(eve, quoteUrl=f"{HOME}/@ada/{id}?a=1", tag=[mention], cc=[f"{HOME}/users/ada"])
    await take(stage, create(eve, quoting))
    assert await stage.rows("SELECT quote_of_id FROM statuses WHERE uri = $1", quoting["id"]) == [[int(id)]]


async def test_ids_of_activities_and_texts_for_people_stay_as_they_are(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve, id = peer.person("eve"), (await ada.publish("hello"))["id"]
    page = f"{HOME}/@ada/{id}/"
    await take(stage, create(eve, note(eve, inReplyTo=page, content=page, url=page)))
    ((content,),) = await stage.rows("SELECT content FROM statuses WHERE NOT local")
    assert content == page


async def test_a_document_may_name_many_addresses_of_which_few_are_looked_up(stage: Stage, ada: Person) -> None:
    """Reading an address takes some 0.1 ms at worst, for which nothing else runs."""
    reader = stage.http_context.federation.own_addresses
    many = [f"{HOME}/@ada/{number}/?x" for number in range(20_000)]
    document: dict[str, Any] = {"type": "Note", "cc": list(many), "tag": [{"href": f"{HOME}/@ada"}] * 10}
    await reader.put_uris(document)
    changed = sum(one != other for one, other in zip(many, document["cc"], strict=True))
    assert 0 < changed <= MOST_ADDRESSES
    assert document["cc"][0] == f"{HOME}/users/ada/statuses/0"
    deep: dict[str, Any] = {"type": "Note", "content": ["x"] * 20_000, "tag": [{"href": f"{HOME}/@ada"}]}
    await reader.put_uris(deep)
    assert deep["tag"][0]["href"] == f"{HOME}/@ada", "what is beyond the bound stays as it is"

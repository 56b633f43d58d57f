"""WebFinger that binds a handle to an actor of somebody else, and handles in odd spellings."""

from __future__ import annotations

from typing import Any

import pytest

from troupe.actors.activitypub.vocabulary import is_list, is_object
from troupe.actors.federation.webfinger import Handle, handle_from

from ..clients import Person, Stage
from .finding import ACCOUNTS, search
from .peer import DOCUMENT, ForeignServer


async def test_class_17_a_handle_that_another_server_claims_for_an_actor_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    victim = peer.person("victim", "other.test")
    peer.handle("president", None, victim["id"])
    assert await search(ada, f"president@{peer.domain}") == []
    assert await stage.rows(ACCOUNTS) == []


async def test_class_17_an_actor_may_not_take_a_handle_that_leads_to_another(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    peer.person("mallory", preferredUsername="eve")
    peer.handle("eve", None, eve["id"])
    assert await search(ada, peer.url("/users/mallory")) == []
    assert [one["uri"] for one in await search(ada, eve["id"])] == [eve["id"]]


async def test_class_17_a_handle_of_this_server_is_not_given_away(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    eve = peer.person("eve")
    peer.handle("eve", None, eve["id"], subject="ada@home.test")
    assert await search(ada, eve["id"]) == []
    assert await stage.rows(ACCOUNTS) == []


async def test_class_17_a_handle_may_be_of_another_domain_that_agrees(ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    apex = f"eve@{peer.domain_of('other.test')}"
    peer.handle("eve", None, eve["id"], subject=apex)
    peer.handle("eve", "other.test", eve["id"])
    assert [one["acct"] for one in await search(ada, f"@{apex}")] == [apex]
    assert [one["acct"] for one in await search(ada, eve["id"])] == [apex]


@pytest.mark.parametrize("answers", ["with another actor", "with a third handle", "not"])
async def test_class_17_a_domain_that_does_not_agree_gives_no_handle(
    stage: Stage, ada: Person, peer: ForeignServer, answers: str
) -> None:
    eve = peer.person("eve")
    other = peer.domain_of("other.test")
    peer.handle("eve", None, eve["id"], subject=f"eve@{other}")
    if answers == "with another actor":
        peer.handle("eve", "other.test", peer.person("eve", "other.test")["id"])
    elif answers == "with a third handle":
        peer.handle("eve", "other.test", eve["id"], subject=f"eve@{peer.domain_of('third.test')}")
    assert await search(ada, eve["id"]) == []
    found = [one["uri"] for one in await search(ada, f"eve@{peer.domain}")]
    assert found == ([peer.url("/users/eve", "other.test")] if answers == "with another actor" else [])
    assert [eve["id"]] not in await stage.rows(ACCOUNTS)


@pytest.mark.parametrize(
    "links",
    [
        [], {}, None, "x", [7], [{"rel": "self"}],
        [{"rel": "self", "type": "text/html", "href": "EVE"}],
        [{"rel": "alternate", "type": DOCUMENT, "href": "EVE"}],
        [{"rel": "self", "type": DOCUMENT, "href": "javascript:alert(1)"}],
        [{"rel": "self", "type": DOCUMENT, "href": 7}],
        [{"rel": "self", "type": DOCUMENT, "href": "https://127.0.0.1/users/eve"}],
        [{"rel": "magic-public-key", "href": "data:application/magic-public-key,RSA.x"}],
        [{"rel": "salmon", "href": "EVE"}, {"rel": "http://schemas.google.com/g/2010#updates-from", "href": "EVE"}],
    ],
)  # fmt: skip
async def test_an_answer_without_an_actor_finds_nothing(
    stage: Stage, ada: Person, peer: ForeignServer, links: Any
) -> None:
    """Those of OStatus among them: removed protocols are not resolvable."""
    eve = peer.person("eve")
    if is_list(links):
        links = [{**one, "href": eve["id"]} if is_object(one) and one.get("href") == "EVE" else one for one in links]
    peer.handle("eve", None, None, links=links)
    assert await search(ada, f"eve@{peer.domain}") == []
    assert await stage.rows(ACCOUNTS) == []
    assert stage.failures == []


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"null", b"x" * 2_000_000, b'{"subject": 7}', b'{"subject": "acct:@"}']
)
async def test_an_answer_that_is_none_finds_nothing(
    stage: Stage, ada: Person, peer: ForeignServer, body: bytes
) -> None:
    peer.person("eve")
    peer.serve(peer.webfinger_url(f"eve@{peer.domain}"), body, "application/jrd+json")
    assert await search(ada, f"eve@{peer.domain}") == []
    assert stage.failures == []


async def test_webfinger_may_be_where_host_meta_says(ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    handle = f"eve@{peer.domain}"
    peer.fail(peer.webfinger_url(handle), 404)
    template = peer.url("/finger?resource={uri}")
    xrd = f'<?xml version="1.0"?><XRD xmlns="x"><Link rel="lrdd" template="{template}"/></XRD>'
    peer.serve(peer.url("/.well-known/host-meta"), xrd.encode(), "application/xrd+xml")
    answer = {"subject": f"acct:{handle}", "links": [{"rel": "self", "type": DOCUMENT, "href": eve["id"]}]}
    peer.serve(peer.webfinger_url(handle).replace("/.well-known/webfinger", "/finger"), answer, "application/jrd+json")
    assert len(await search(ada, handle)) == 1


async def test_host_meta_is_asked_after_404_alone(ada: Person, peer: ForeignServer) -> None:
    peer.person("eve")
    peer.fail(peer.webfinger_url(f"eve@{peer.domain}"), 410)
    assert await search(ada, f"eve@{peer.domain}") == []
    assert peer.asked(peer.url("/.well-known/host-meta")) == []


@pytest.mark.parametrize(
    ("written", "domain"),
    [
        ("EXAMPLE.org", "example.org"), ("example.org.", "example.org"), ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"), ("\uff45xample.org", "example.org"),
        ("example.org:8443", "example.org:8443"),
    ],
)  # fmt: skip
def test_class_16_a_domain_has_one_spelling(written: str, domain: str) -> None:
    assert handle_from("eve", written) == Handle("eve", domain)


@pytest.mark.parametrize(
    "domain",
    [
        "",
        ".",
        "localhost",
        "example.org/x",
        "example.org@x",
        "exa mple.org",
        "example..org",
        "-.org",
        "a" * 300 + ".org",
    ],
)
def test_class_16_what_is_no_domain_is_asked_nothing(domain: str) -> None:
    assert handle_from("eve", domain) is None


async def test_class_16_one_account_is_found_in_every_spelling(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    peer.person("eve")
    port = peer.peer.port
    for spelling in (f"eve@peer.test:{port}", f"EVE@PEER.test:{port}", f"@Eve@\uff50eer.test:{port}"):
        assert len(await search(ada, spelling)) == 1, spelling
        assert (await ada.get("/api/v1/accounts/lookup", query_string={"acct": spelling})).status == 200, spelling
    assert len(await stage.rows(ACCOUNTS)) == 1


async def test_class_16_this_servers_own_name_in_odd_spellings_is_not_asked(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    for spelling in ("ada@HOME.test", "ada@home.test.", "ada@\uff48ome.test"):
        assert [one["acct"] for one in await search(ada, spelling)] == ["ada"], spelling
    for url in ("https://home.test/users/ada", "https://HOME.test/users/ada", "https://\uff48ome.test./@ada"):
        assert [one["acct"] for one in await search(ada, url)] == ["ada"], url
    for url in ("https://home.test/users/nobody", "https://HOME.test/tags/ada", "https://home.test./nodeinfo/2.0"):
        assert await search(ada, url) == [], url
    assert peer.peer.asked == []

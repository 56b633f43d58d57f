"""WebFinger that binds a handle to an actor of somebody else, and handles in odd spellings."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from troupe.actors.federation.webfinger import Handle, handle_from
from troupe.storage.engine.json_values import is_list, is_object

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
    "links",
    [
        [{"rel": "self", "href": "EVE"}],
        [{"rel": "self", "href": "x"}, {"rel": "self", "type": DOCUMENT, "href": "EVE"}],
    ],
)
async def test_a_link_may_have_no_type(ada: Person, peer: ForeignServer, links: list[dict[str, Any]]) -> None:
    eve = peer.person("eve")
    named = [one | {"href": eve["id"]} if one["href"] == "EVE" else one for one in links]
    peer.handle("eve", None, None, links=named)
    assert [one["uri"] for one in await search(ada, f"eve@{peer.domain}")] == [eve["id"]]


async def test_the_answer_may_be_the_actor_itself(ada: Person, peer: ForeignServer) -> None:
    eve, mallory = peer.person("eve"), peer.person("mallory")
    place = peer.webfinger_url(f"eve@{peer.domain}")
    peer.serve(place, mallory, DOCUMENT)  # under the handle that is mallory's own
    assert [one["username"] for one in await search(ada, f"eve@{peer.domain}")] == ["mallory"]
    peer.serve(place, eve, DOCUMENT)
    assert [one["uri"] for one in await search(ada, f"eve@{peer.domain}")] == [eve["id"]]


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


@pytest.mark.parametrize(
    "host_meta",
    [
        '<?xml version="1.0"?><XRD xmlns="x"><Link rel="lrdd" template="TEMPLATE"/></XRD>',
        '<hm:XRD><hm:Link\n  type="application/json"\n  template=\'TEMPLATE\'\n  rel="lrdd"></hm:Link></hm:XRD>',
        '{"links": [{"rel": "x"}, {"rel": "lrdd", "type": "application/jrd+json", "template": "TEMPLATE"}]}',
    ],
)
async def test_webfinger_may_be_where_host_meta_says(ada: Person, peer: ForeignServer, host_meta: str) -> None:
    eve = peer.person("eve")
    handle = f"eve@{peer.domain}"
    peer.fail(peer.webfinger_url(handle), 404)
    template = peer.url("/finger?resource={uri}")
    peer.serve(peer.url("/.well-known/host-meta"), host_meta.replace("TEMPLATE", template).encode(), "text/plain")
    answer = {"subject": f"acct:{handle}", "links": [{"rel": "self", "type": DOCUMENT, "href": eve["id"]}]}
    peer.serve(peer.webfinger_url(handle).replace("/.well-known/webfinger", "/finger"), answer, "application/jrd+json")
    assert len(await search(ada, handle)) == 1


AS2 = "https://www.w3.org/ns/activitystreams"


@pytest.mark.parametrize(
    "type",
    [
        f'application/ld+json;profile="{AS2}"', f'APPLICATION/LD+JSON ; Profile="{AS2}"',
        f"application/ld+json; profile={AS2}", f'application/ld+json; charset=utf-8; profile="{AS2}"',
        f'application/ld+json; profile="https://w3id.org/security {AS2}"', "Application/Activity+JSON",
        "application/activity+json; charset=utf-8",
    ],
)  # fmt: skip
async def test_types_of_links_are_compared_as_media_types(ada: Person, peer: ForeignServer, type: str) -> None:
    eve = peer.person("eve")
    links = [{"rel": "http://webfinger.net/rel/avatar", "type": DOCUMENT, "href": "x"}, {"rel": "self"}]
    peer.handle("eve", None, None, links=[*links, {"rel": "self", "type": type, "href": eve["id"]}])
    assert [one["uri"] for one in await search(ada, f"eve@{peer.domain}")] == [eve["id"]]


@pytest.mark.parametrize(
    ("subject", "aliases"),
    [
        ("acct:EVE@PEER.TEST", []), ("ACCT:eve@peer.test", []), ("eve@peer.test", []), ("acct:@eve@peer.test", []),
        ("acct:eve%40peer.test", []), (" acct:eve@peer.test ", []), (None, []), (None, "https://x.example/eve"),
        ("https://peer.test/users/eve", ["https://peer.test/@eve", "acct:eve@peer.test"]),
    ],
)  # fmt: skip
async def test_an_answer_may_spell_its_handle_in_other_ways(
    ada: Person, peer: ForeignServer, subject: str | None, aliases: list[str]
) -> None:
    eve, port = peer.person("eve"), peer.peer.port
    answer = {"aliases": aliases, "links": [{"rel": "self", "type": DOCUMENT, "href": eve["id"]}]}
    answer |= {} if subject is None else {"subject": subject}
    with_port = re.sub("(peer.test)", rf"\1:{port}", json.dumps(answer), flags=re.IGNORECASE)
    body = with_port.replace(f"test:{port}:{port}", f"test:{port}").encode()
    peer.serve(peer.webfinger_url(f"eve@{peer.domain}"), body, "application/json; charset=utf-8")
    assert [one["uri"] for one in await search(ada, f"eve@{peer.domain}")] == [eve["id"]]


async def test_the_first_link_to_an_actor_counts(ada: Person, peer: ForeignServer) -> None:
    eve, eva = peer.person("eve"), peer.person("eva")
    links = [
        {"rel": "self", "type": "text/html", "href": eva["id"]}, {"rel": "self", "type": DOCUMENT, "href": "mailto:x"},
        {"rel": "self", "type": DOCUMENT, "href": eve["id"]}, {"rel": "self", "type": DOCUMENT, "href": eva["id"]},
    ]  # fmt: skip
    peer.handle("eve", None, None, links=links)
    assert [one["uri"] for one in await search(ada, f"eve@{peer.domain}")] == [eve["id"]]


async def test_a_domain_may_leave_its_handles_to_another_host(ada: Person, peer: ForeignServer) -> None:
    """Its WebFinger is a redirect, as people set one up on a site of their own."""
    apex, host = peer.domain_of("other.test"), "peer.test"
    eve = peer.person("eve")
    asked = f"/.well-known/webfinger?resource=acct%3Aeve%40{apex.replace(':', '%3A')}"
    peer.redirect(peer.url(asked, "other.test"), peer.url(asked, host))
    links = [{"rel": "self", "type": DOCUMENT, "href": eve["id"]}]
    for place in (peer.url(asked, host), peer.webfinger_url(f"eve@{peer.domain}")):
        peer.serve(place, {"subject": f"acct:eve@{apex}", "links": links}, "application/jrd+json")
    assert [one["acct"] for one in await search(ada, f"eve@{apex}")] == [f"eve@{apex}"]
    assert [one["acct"] for one in await search(ada, eve["id"])] == [f"eve@{apex}"]


async def test_a_server_below_the_domain_of_a_handle_may_name_its_own_handle(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    """Hollo repeats the handle that it is asked about. Both servers name the actor, its own one the handle."""
    eve = peer.person("eve", "host0.peer.test")
    peer.handle("eve", None, eve["id"])
    own = f"eve@{peer.domain_of('host0.peer.test')}"
    assert [one["acct"] for one in await search(ada, f"eve@{peer.domain}")] == [own]
    assert [one["acct"] for one in await search(ada, eve["id"])] == [own]
    assert await stage.rows(ACCOUNTS) == [[eve["id"]]]


async def test_an_answer_may_be_xml(ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    xrd = f"""<?xml version="1.0" encoding="UTF-8"?>
      <XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0"><Subject>acct:eve@{peer.domain}</Subject>
      <Alias>{eve["url"]}</Alias><Link rel="http://webfinger.net/rel/profile-page" href="{eve["url"]}"/>
      <Link href="{eve["id"]}" type="application/ld+json; profile=&quot;{AS2}&quot;" rel="self"/></XRD>"""
    peer.serve(peer.webfinger_url(f"eve@{peer.domain}"), xrd.encode(), "application/xrd+xml")
    assert [one["uri"] for one in await search(ada, f"eve@{peer.domain}")] == [eve["id"]]


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


async def test_an_own_account_is_found_with_the_usual_port(stage: Stage, ada: Person) -> None:
    for resource in ("acct:ada@home.test:443", "acct:ada@HOME.test.", "https://home.test:443/users/ada"):
        answer = await stage.anybody().get("/.well-known/webfinger", query_string={"resource": resource})
        assert (answer.status, answer.json.get("subject")) == (200, "acct:ada@home.test"), resource


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

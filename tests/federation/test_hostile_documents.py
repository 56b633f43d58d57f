"""Documents that try to be what they are not: nothing of them is stored, and nothing that they name is asked for.

The numbers are those of the classes of vulnerabilities that servers of the fediverse have had.
"""

from __future__ import annotations

import gzip
from itertools import pairwise
from typing import Any

import pytest
import trio

from troupe.actors.federation import budgets, fetching
from troupe.actors.federation.errors import DocumentMissing, DocumentUnavailable, UntrustedDocument
from troupe.actors.federation.fetching import DocumentFetcher

from ..clients import Person, Stage
from ..outgoing.peer import Asked, answer
from ..waiting import until_found
from .finding import ACCOUNTS, search, until_done
from .peer import DOCUMENT, ForeignServer


async def refused(stage: Stage, ada: Person, peer: ForeignServer, url: str | None = None) -> None:
    """Search for Eve, by address and by handle: nobody is found, and nobody is stored."""
    assert await search(ada, url or peer.url("/users/eve")) == []
    assert await search(ada, f"eve@{peer.domain}") == []
    assert await stage.rows(ACCOUNTS) == []
    assert stage.failures == []
    assert stage.told("fetch.failed") == []


def document(peer: ForeignServer, **changes: Any) -> dict[str, Any]:
    """Serve Eve with some changes."""
    made = peer.person("eve") | changes
    peer.serve(peer.url("/users/eve"), {key: value for key, value in made.items() if value is not None})
    return made


async def test_class_1_a_document_with_the_id_of_another_host_is_not_believed(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    victim = peer.person("victim", "other.test")
    peer.serve(peer.url("/users/eve"), victim | {"name": "Forged", "inbox": peer.url("/inbox")})
    (found,) = await search(ada, peer.url("/users/eve"))
    assert (found["uri"], found["display_name"]) == (victim["id"], "Victim"), "what its own server says"


async def test_class_1_an_id_that_its_own_host_does_not_know_is_not_believed(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    document(peer, id=peer.url("/users/eve", "other.test"))
    await refused(stage, ada, peer)


async def test_class_1_documents_that_name_each_other_prove_nothing(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    one, other = peer.url("/users/eve"), peer.url("/users/mallory")
    eve = peer.person("eve")
    peer.serve(one, eve | {"id": other})
    peer.serve(other, eve | {"id": one})
    await refused(stage, ada, peer)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json", "text/html", "image/png", "application/octet-stream", "application/ld+json", "",
        'application/ld+json; profile="https://example.org/ns"', "application/activity+json.png",
        'text/plain; profile="https://www.w3.org/ns/activitystreams"',
    ],
)  # fmt: skip
async def test_class_2_an_upload_is_no_actor(stage: Stage, ada: Person, peer: ForeignServer, content_type: str) -> None:
    peer.serve(peer.url("/users/eve"), peer.person("eve"), content_type)
    await refused(stage, ada, peer)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/activity+json; charset=utf-8", "Application/Activity+JSON",
        'application/ld+json; profile="https://www.w3.org/ns/activitystreams"',
        'application/ld+json;charset=utf-8;profile="https://www.w3.org/ns/activitystreams"',
    ],
)  # fmt: skip
async def test_an_actor_may_have_either_type(ada: Person, peer: ForeignServer, content_type: str) -> None:
    peer.serve(peer.url("/users/eve"), peer.person("eve"), content_type)
    assert len(await search(ada, peer.url("/users/eve"))) == 1


RESHAPED: list[dict[str, object]] = [
    {"@graph": [{"id": "x"}]},
    {"@included": []},
    {"@reverse": {"publicKey": {}}},
    {"endpoints": {"@reverse": {"sharedInbox": "x"}}},
    {"tag": [{"x": {"@graph": []}}]},
]


@pytest.mark.parametrize("reshaped", RESHAPED)
async def test_class_4_a_document_that_reshapes_linked_data_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer, reshaped: dict[str, Any]
) -> None:
    document(peer, **reshaped)
    await refused(stage, ada, peer)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/users/eve", "https://[::1]/users/eve", "https://0x7f.1/users/eve", "https://2130706433/",
        "https://10.0.0.1/", "https://169.254.169.254/latest/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
        "https://100.64.0.1/", "http://example.org/", "https://example.org:8080/",
        "https://user@example.org/", "https://inside.example/users/eve",
    ],
)  # fmt: skip
async def test_class_6_addresses_inside_are_not_asked(stage: Stage, ada: Person, peer: ForeignServer, url: str) -> None:
    """`inside.example` has an address of this machine."""
    assert await search(ada, url) == []
    assert peer.peer.asked == []
    assert stage.failures == []
    with pytest.raises(DocumentMissing):  # not for want of a listener there
        await stage.http_context.federation.fetcher.fetch(url)


async def test_class_6_what_a_document_names_is_checked_like_what_a_user_names(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    with pytest.raises(DocumentMissing):
        await stage.http_context.federation.fetcher.fetch("https://inside.example/users/eve")
    peer.redirect(peer.url("/users/eve"), f"http://127.0.0.1:{peer.peer.port}/users/mallory")
    await refused(stage, ada, peer)
    assert peer.asked(f"http://127.0.0.1:{peer.peer.port}/users/mallory") == []


async def test_class_7_a_redirect_to_another_host_is_not_signed_and_proves_nothing(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    there = peer.url("/users/eve", "other.test")
    eve = peer.person("eve")
    peer.redirect(peer.url("/users/eve"), there)
    peer.serve(there, eve)
    await refused(stage, ada, peer)
    assert peer.asked(there) != []
    assert all("signature" not in one.headers for one in peer.asked(there))


async def test_class_7_each_hop_on_one_host_is_signed_for_its_own_path(ada: Person, peer: ForeignServer) -> None:
    eve = peer.person("eve")
    peer.redirect(peer.url("/@eve"), peer.url("/users/eve"))
    assert len(await search(ada, peer.url("/@eve"))) == 1
    (first,), (second,) = peer.asked(peer.url("/@eve")), peer.asked(eve["id"])
    assert first.headers["signature"] != second.headers["signature"]


@pytest.mark.parametrize("part", ["followers", "following", "outbox", "featured"])
async def test_class_8_addresses_of_third_hosts_in_a_document_are_not_asked(
    stage: Stage, ada: Person, peer: ForeignServer, part: str
) -> None:
    third = peer.collection(peer.url("/collection", "third.test"), [], 7)
    document(peer, **{part: third})
    (found,) = await search(ada, peer.url("/users/eve"))
    async with trio.open_nursery() as nursery:
        for one in {"followers", "following", "outbox"} - {part}:  # what is fetched besides
            nursery.start_soon(peer.was_asked, f"{found['uri']}/{one}")
    assert peer.asked(third) == []
    (row,) = await stage.rows(f"SELECT {part}_url FROM accounts WHERE id = $1", int(found["id"]))
    assert row == [None]


@pytest.mark.parametrize(
    "inbox",
    [
        "https://127.0.0.1/inbox", "http://10.0.0.1/inbox", "https://[::1]/inbox", "https://home.test/inbox",
        "https://home.test/users/ada/inbox", "https://HOME.test:443/inbox", "https://eve:x@third.test/inbox",
        "javascript:alert(1)", "file:///inbox", "/inbox", 7, None, ["a", "b"], {"id": None},
    ],
)  # fmt: skip
async def test_class_8_an_actor_without_an_inbox_that_may_be_asked_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer, inbox: object
) -> None:
    document(peer, inbox=inbox)
    await refused(stage, ada, peer)


async def test_class_8_a_shared_inbox_of_another_host_is_left_out(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    document(peer, endpoints={"sharedInbox": peer.url("/inbox", "third.test")}, url="javascript:alert(1)")
    (found,) = await search(ada, peer.url("/users/eve"))
    assert found["url"] == found["uri"]
    (row,) = await stage.rows("SELECT shared_inbox_url, url FROM accounts WHERE id = $1", int(found["id"]))
    assert row == [None, None]


async def test_class_8_an_actor_with_its_inbox_on_a_suspended_server_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    columns = "id, domain, severity, reject_media, reject_reports, obfuscate, created_at"
    await stage.sql(
        f"INSERT INTO blocked_domains ({columns}) VALUES (1, 'third.test', 'suspend', true, true, false, now())"
    )
    await stage.http_context.blocks.reload()
    document(peer, inbox=peer.url("/inbox", "third.test"))
    await refused(stage, ada, peer)


async def test_class_9_a_host_that_moves_inside_between_two_requests_is_not_asked(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = iter([["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]])

    async def rebinding(host: str, port: int) -> list[str]:
        return next(addresses)

    client = stage.http_context.outgoing
    network = client._network  # pyright: ignore[reportPrivateUsage]  # the client's own, with the fetcher behind it
    monkeypatch.setattr(network, "_resolve", rebinding)
    await client.check("https://evil.example/users/eve")
    with pytest.raises(DocumentMissing):
        await stage.http_context.federation.fetcher.fetch("https://evil.example/users/eve")


async def test_class_10_redirects_in_a_circle_end(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    one, other = peer.url("/users/eve"), peer.url("/users/mallory")
    peer.redirect(one, other)
    peer.redirect(other, one)
    await refused(stage, ada, peer)
    assert len(peer.asked(one)) + len(peer.asked(other)) == fetching.HOPS + 1


async def test_class_10_a_body_that_explodes_is_not_unpacked(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    bomb = gzip.compress(b" " * 20_000_000)
    peer.serve(peer.url("/users/eve"), bomb, Content_Encoding="gzip")
    await refused(stage, ada, peer)


async def test_class_10_a_body_that_comes_in_drips_is_given_up(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def drip(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(
            answer(200, b"", Content_Type=DOCUMENT).replace(b"Content-Length: 0", b"Content-Length: 99")
        )
        while True:
            await stream.send_all(b" ")
            await trio.sleep(0.01)

    monkeypatch.setattr(fetching, "SECONDS", 0.1)
    peer.respond_with(peer.url("/users/eve"), drip)
    with pytest.raises(DocumentUnavailable):
        await stage.http_context.federation.fetcher.fetch(peer.url("/users/eve"))


async def test_class_18_an_account_that_says_to_have_moved_leads_no_further_than_one_step(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    names = [f"eve{number}" for number in range(6)]
    for name, following in pairwise(names):
        peer.person(name, movedTo=peer.url(f"/users/{following}"), alsoKnownAs=[peer.url(f"/users/{name}")])
    peer.person(names[-1])
    await search(ada, peer.url("/users/eve0"))
    await until_done(stage)
    assert await stage.rows(ACCOUNTS) == [[peer.url("/users/eve0")], [peer.url("/users/eve1")]]


@pytest.mark.parametrize("size", [1024 * 1024 + 1, 3_000_000])
async def test_class_19_a_document_that_is_too_large_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer, size: int
) -> None:
    document(peer, filler="x" * size)
    await refused(stage, ada, peer)


async def test_class_19_a_document_that_is_nested_too_deeply_is_refused(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    deep: object = "x"
    for _ in range(500):
        deep = [deep]
    document(peer, tag=deep)
    await refused(stage, ada, peer)


async def test_class_19_texts_and_lists_are_cut(stage: Stage, ada: Person, peer: ForeignServer) -> None:
    document(
        peer,
        name="n" * 5_000,
        summary="<p>" + "s" * 50_000,
        attachment=[{"type": "PropertyValue", "name": "n" * 4_000, "value": "v" * 4_000}] * 60,
        alsoKnownAs=[f"https://example.org/{number}" for number in range(300)],
        icon={"type": "Image", "url": "https://example.org/a.png", "name": "d" * 20_000},
    )
    (found,) = await search(ada, peer.url("/users/eve"))
    assert (len(found["display_name"]), len(found["fields"])) == (2_048, 50)
    assert (len(found["fields"][0]["name"]), len(found["fields"][0]["value"])) == (2_047, 2_047)
    assert len(found["note"]) < 20_500
    (row,) = await stage.rows(
        "SELECT cardinality(also_known_as), length(avatar_description) FROM accounts WHERE id = $1", int(found["id"])
    )
    assert row == [256, 1_500]


@pytest.mark.parametrize(
    "changes",
    [
        {"preferredUsername": "e" * 2_049}, {"preferredUsername": "eve\u200b"}, {"preferredUsername": "e ve"},
        {"preferredUsername": ""}, {"preferredUsername": 7}, {"preferredUsername": None}, {"preferredUsername": ".eve"},
        {"preferredUsername": "eve@other.test"}, {"preferredUsername": "\u0430da"},
        {"type": "Note"}, {"type": None}, {"type": []}, {"id": None}, {"id": 7},
    ],
)  # fmt: skip
async def test_class_20_actors_without_a_usable_name_are_refused(
    stage: Stage, ada: Person, peer: ForeignServer, changes: dict[str, Any]
) -> None:
    document(peer, **changes)
    await refused(stage, ada, peer)


@pytest.mark.parametrize("path", ["/users/" + "e" * 2_100, "/users/" + "é" * 1_500])
async def test_class_20_ids_that_no_index_can_hold_are_refused(
    stage: Stage, ada: Person, peer: ForeignServer, path: str
) -> None:
    long = peer.url(path)
    peer.serve(peer.url("/users/eve"), peer.person("eve") | {"id": long})
    await refused(stage, ada, peer)
    with pytest.raises((DocumentMissing, UntrustedDocument)):
        await stage.http_context.federation.fetcher.fetch(long)


async def test_texts_are_made_safe(ada: Person, peer: ForeignServer) -> None:
    evil = '<script>alert(1)</script><a href="javascript:alert(1)">x</a><img src=x onerror=alert(1)>\0'
    document(
        peer,
        name=evil,
        summary=evil,
        attachment={"type": "PropertyValue", "name": "site", "value": evil},
        icon="javascript:alert(1)",
    )
    (found,) = await search(ada, peer.url("/users/eve"))
    assert found["note"] == "x"
    assert [one["value"] for one in found["fields"]] == ["x"]
    assert "\0" not in found["display_name"]


async def test_class_34_new_servers_of_one_domain_are_bounded(stage: Stage, peer: ForeignServer) -> None:
    resolver = stage.http_context.federation.resolver
    discoveries = resolver._discoveries  # pyright: ignore[reportPrivateUsage]  # as if it had found as many accounts
    admitted = 0
    for number in range(100_000):
        try:
            discoveries.admit(f"host{number}.evil.example")
            admitted += 1
        except DocumentMissing:
            pass
    assert admitted == 10
    for number in range(20_000):
        discoveries.admit(f"evil{number}.example")
    assert len(discoveries._windows) <= 10_000  # pyright: ignore[reportPrivateUsage]  # no other code counts them


async def test_class_34_slow_servers_of_one_domain_leave_others_their_places(
    stage: Stage, ada: Person, peer: ForeignServer
) -> None:
    slow = [peer.url("/x", f"host{number}.peer.test") for number in range(budgets.OF_ONE_DOMAIN + 3)]
    fetcher = stage.http_context.federation.fetcher
    held = [peer.hold(url) for url in slow]

    async def as_many_as_may() -> bool:
        return len([url for url in slow if peer.asked(url)]) == budgets.OF_ONE_DOMAIN

    async with trio.open_nursery() as nursery:
        for url in slow:
            nursery.start_soon(fails, fetcher, url)
        await until_found(as_many_as_may)
        assert len(await search(ada, peer.person("eve", "other.test")["id"])) == 1
        assert await as_many_as_may(), "no more than before"
        for one in held:
            one.set()
    assert all(peer.asked(url) for url in slow)


async def fails(fetcher: DocumentFetcher, url: str) -> None:
    with pytest.raises(DocumentMissing):
        await fetcher.fetch(url)


async def test_class_34_documents_that_are_being_fetched_are_bounded(
    stage: Stage, ada: Person, peer: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = peer.hold(peer.person("eve")["id"])
    peer.person("fay")
    resolver = stage.http_context.federation.resolver
    monkeypatch.setattr(resolver._flights, "_most", 1)  # pyright: ignore[reportPrivateUsage]  # of this resolver
    async with trio.open_nursery() as nursery:
        nursery.start_soon(resolver.account, peer.url("/users/eve"))
        await peer.was_asked(peer.url("/users/eve"))
        with pytest.raises(DocumentUnavailable):
            await resolver.account(peer.url("/users/fay"))
        held.set()

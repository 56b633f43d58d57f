"""The client for outgoing requests: the addresses it connects to, its requests, and the answers it accepts."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import httpcore2
import pytest
import trio
import trio.testing

from troupe.actors.outgoing import client as module
from troupe.actors.outgoing import host_pools
from troupe.actors.outgoing.bodies import MEMBER, read_body
from troupe.actors.outgoing.client import OutgoingClient, OutgoingRequest, RequestLimits
from troupe.actors.outgoing.connections import CheckedSockets
from troupe.actors.outgoing.messages import (
    AnswerTooLarge,
    BadAnswer,
    ForbiddenTarget,
    OutgoingFailure,
    TookTooLong,
    Unreachable,
)
from troupe.actors.outgoing.network import NameResolver, PublicNetwork
from troupe.actors.outgoing.targets import named_target

from ..certificates import Certificate, certificate
from .peer import Asked, Respond, always, answer, peer

HOSTS = ("peer.test", "other.test")
LIMITS = RequestLimits(seconds=20, body=10_000, hops=3)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certificate(tmp_path_factory.mktemp("tls"), hosts=HOSTS)


async def loopback(host: str, port: int) -> Sequence[str]:
    """All names of the tests lead here."""
    return ["127.0.0.1"]


def client(identity: Certificate, *, hosts: Sequence[str] = HOSTS, resolve: Any = loopback) -> OutgoingClient:
    tls = ssl.create_default_context(cafile=identity.file)
    return OutgoingClient("Troupe/test", test_hosts=hosts, resolve=resolve, tls=tls)


def get(url: str, **headers: str) -> OutgoingRequest:
    return OutgoingRequest("GET", url, headers)


# What is sent and read


async def test_a_request_is_sent_and_its_answer_read(identity: Certificate) -> None:
    async with peer(always(answer(201, b"made", Location="/1")), identity.server) as there:
        request = OutgoingRequest("POST", there.url("/a?b"), {"TTL": "5"}, b"\x00body")
        got = await client(identity).send(request, LIMITS)
    assert (got.status, got.headers["location"], got.body) == (201, "/1", b"made")
    (asked,) = there.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/a?b", b"\x00body")
    assert asked.headers == {
        "host": f"peer.test:{there.port}", "user-agent": "Troupe/test", "accept-encoding": "gzip",
        "content-length": "5", "ttl": "5",
    }  # fmt: skip


async def test_cookies_are_neither_kept_nor_sent(identity: Certificate) -> None:
    ours = client(identity)
    async with peer(always(answer(200, Set_Cookie="a=b")), identity.server) as there:
        for _ in range(2):
            await ours.send(get(there.url()), LIMITS)
    assert ["cookie" in asked.headers for asked in there.asked] == [False, False]
    assert there.connections == 1, "the connection is used again"


async def test_proxies_of_the_environment_are_not_asked(identity: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with peer(always(answer(200)), identity.server) as there:
        assert (await client(identity).send(get(there.url()), LIMITS)).status == 200


# Connections


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0"])
async def test_a_name_that_leads_inwards_is_not_connected_to(identity: Certificate, address: str) -> None:
    async def inwards(host: str, port: int) -> Sequence[str]:
        return [address]

    async with peer(always(answer(200)), identity.server) as there:
        with pytest.raises(ForbiddenTarget):
            await client(identity, hosts=(), resolve=inwards).send(get("https://peer.test/"), LIMITS)
    assert there.connections == 0


async def test_the_address_that_was_checked_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads to another place at the second look is looked up once for each connection."""
    looks = iter([["93.184.216.34", "127.0.0.1", "2606:4700::1"], ["127.0.0.1"]])
    connected: list[str] = []

    async def flipping(host: str, port: int) -> Sequence[str]:
        return next(looks)

    class Sockets(httpcore2.AsyncNetworkBackend):
        async def connect_tcp(self, host: str, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
            connected.append(host)
            raise httpcore2.ConnectError

    checked = CheckedSockets(PublicNetwork(flipping, {}))
    monkeypatch.setattr(checked, "_sockets", Sockets())
    with pytest.raises(Unreachable):
        await checked.connect_tcp("flip.example", 443)
    assert connected == ["93.184.216.34", "2606:4700::1"]
    with pytest.raises(ForbiddenTarget):
        await checked.connect_tcp("flip.example", 443)
    assert connected == ["93.184.216.34", "2606:4700::1"]


async def test_a_host_without_a_listener_or_without_a_name_is_unreachable(identity: Certificate) -> None:
    async with peer(always(answer(200)), identity.server) as there:
        url = there.url()
    with pytest.raises(Unreachable):
        await client(identity).send(get(url), LIMITS)

    async def nowhere(host: str, port: int) -> Sequence[str]:
        return []

    with pytest.raises(Unreachable):
        await client(identity, resolve=nowhere).send(get(url), LIMITS)


async def test_the_systems_own_resolver_is_asked(identity: Certificate) -> None:
    ours = OutgoingClient("Troupe/test", test_hosts=["localhost"])
    async with peer(always(answer(204)), None) as there:
        assert (await ours.send(get(f"http://localhost:{there.port}/"), LIMITS)).status == 204
        with pytest.raises(ForbiddenTarget):
            await OutgoingClient("Troupe/test").send(get("https://localhost/"), LIMITS)
    assert there.connections == 1


async def test_name_servers_that_do_not_answer_take_no_threads_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    usual = trio.to_thread.current_default_thread_limiter()

    def look_up(host: str, *more: Any, **named: Any) -> Any:
        answered.wait()
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    resolve = NameResolver()
    try:
        async with trio.open_nursery() as nursery:
            for number in range(int(usual.total_tokens)):
                nursery.start_soon(resolve, f"silent{number}.test", 443)
            await trio.testing.wait_all_tasks_blocked()
            assert usual.borrowed_tokens == 0
            nursery.cancel_scope.cancel()
    finally:
        answered.set()


# A server that the operator has named


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_named_server_may_be_on_this_machine(host: str) -> None:
    async with peer(always(answer(204)), None) as there:
        ours = OutgoingClient("Troupe/test", named=named_target(f"http://{host}:{there.port}/api"))
        assert (await ours.send(get(f"http://{host}:{there.port}/api/languages"), LIMITS)).status == 204
    assert there.connections == 1


async def test_the_client_of_a_named_server_connects_to_nothing_else() -> None:
    async with peer(always(answer(204)), None) as there, peer(always(answer(204)), None) as other:
        ours = OutgoingClient("Troupe/test", named=named_target(f"http://127.0.0.1:{there.port}/"))
        urls = [
            f"http://127.0.0.1:{other.port}/", f"http://localhost:{there.port}/", f"http://[::1]:{there.port}/",
            f"https://127.0.0.1:{there.port}/", "http://127.0.0.1/", "https://push.example.org/",
        ]  # fmt: skip
        for url in urls:
            assert not ours.allows(url)
            with pytest.raises(ForbiddenTarget):
                await ours.send(get(url), LIMITS)
        there.respond = always(answer(302, Location=f"http://127.0.0.1:{other.port}/"))
        with pytest.raises(ForbiddenTarget):
            await ours.send(get(f"http://127.0.0.1:{there.port}/"), LIMITS)
    assert (there.connections, other.connections) == (1, 0)


# Certificates


async def test_a_certificate_of_an_unknown_authority_is_refused(identity: Certificate) -> None:
    async with peer(always(answer(200)), identity.server) as there:
        with pytest.raises(Unreachable):
            await OutgoingClient("Troupe/test", test_hosts=HOSTS, resolve=loopback).send(get(there.url()), LIMITS)
    assert there.asked == []


async def test_a_certificate_for_another_name_is_refused(identity: Certificate) -> None:
    async with peer(always(answer(200)), identity.server) as there:
        with pytest.raises(Unreachable):
            await client(identity, hosts=["third.test"]).send(get(there.url(host="third.test")), LIMITS)
    assert there.asked == []


async def test_the_environment_may_name_the_certificates_to_trust(
    identity: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(identity.file))
    async with peer(always(answer(200)), identity.server) as there:
        ours = OutgoingClient("Troupe/test", test_hosts=HOSTS, resolve=loopback)
        assert (await ours.send(get(there.url()), LIMITS)).status == 200


# Redirects


def leading(**ways: str) -> Respond:
    """Answer each path of `ways` with a redirect, and all others with their path."""

    async def respond(stream: trio.abc.Stream, asked: Asked) -> None:
        way = ways.get(asked.path.strip("/"))
        await stream.send_all(answer(302, Location=way) if way else answer(200, asked.path.encode()))

    return respond


async def test_a_redirect_is_followed_and_headers_stay_at_their_origin(identity: Certificate) -> None:
    async with peer(leading(), identity.server) as there:
        there.respond = leading(a="/b", b=there.url("/c", host="other.test"))
        got = await client(identity).send(get(there.url("/a"), Signature="ours"), LIMITS)
    assert got.body == b"/c"
    assert [asked.headers.get("signature") for asked in there.asked] == ["ours", "ours", None]


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/é?q=ü".encode().decode("latin-1"), b"/%C3%A9?q=%C3%BC"),  # mastodon/mastodon#30792, scrapy/scrapy#2321
        ("/é?q=ü", b"/%C3%A9?q=%C3%BC"),
        ("/日本".encode().decode("latin-1"), b"/%E6%97%A5%E6%9C%AC"),
        ("/%C3%A9?q=%C3%BC", b"/%C3%A9?q=%C3%BC"),
        ("/tea time?q=a b", b"/tea%20time?q=a%20b"),  # curl/curl#4445, snoyberg/http-client#83
    ],
)
async def test_a_redirect_may_have_characters_that_no_address_has(
    identity: Certificate, location: str, path: bytes
) -> None:
    """Sites write addresses as they are, in bytes of UTF-8 or Latin-1. Browsers encode them."""
    async with peer(leading(a=location), identity.server) as there:
        assert (await client(identity).send(get(there.url("/a")), LIMITS)).body == path


@pytest.mark.parametrize("location", ["https://127.0.0.1:{port}/", "http://other.example/", "https://u@peer.test/"])
async def test_a_redirect_that_leads_inwards_is_not_followed(identity: Certificate, location: str) -> None:
    async with peer(leading(), identity.server) as there:
        there.respond = leading(a=location.format(port=there.port))
        with pytest.raises(ForbiddenTarget):
            await client(identity).send(get(there.url("/a")), LIMITS)
    assert len(there.asked) == 1


async def test_a_name_behind_a_redirect_is_checked_like_the_first(identity: Certificate) -> None:
    async with peer(leading(a="https://inside.example/"), identity.server) as there:
        with pytest.raises(ForbiddenTarget):
            await client(identity).send(get(there.url("/a")), LIMITS)
    assert len(there.asked) == 1


async def test_redirects_are_counted(identity: Certificate) -> None:
    async with peer(leading(a="/b", b="/c", c="/d"), identity.server) as there:
        assert (await client(identity).send(get(there.url("/a")), LIMITS)).body == b"/d"
        there.respond = leading(a="/b", b="/a")
        with pytest.raises(AnswerTooLarge):
            await client(identity).send(get(there.url("/a")), LIMITS)
    assert len(there.asked) == 8


async def test_a_redirect_of_a_post_is_an_answer(identity: Certificate) -> None:
    async with peer(leading(a="/b"), identity.server) as there:
        assert (await client(identity).send(OutgoingRequest("POST", there.url("/a")), LIMITS)).status == 302
        assert (await client(identity).send(get(there.url("/a")), RequestLimits(20, 100))).status == 302
    assert len(there.asked) == 2


async def test_a_redirect_to_nowhere_is_a_bad_answer(identity: Certificate) -> None:
    async with peer(always(answer(301)), identity.server) as there:
        with pytest.raises(BadAnswer):
            await client(identity).send(get(there.url()), LIMITS)


# Limits on bytes


async def test_a_body_of_just_the_limit_is_read_and_one_byte_more_is_not(identity: Certificate) -> None:
    for encode, headers in ((bytes, {}), (gzip.compress, {"Content_Encoding": "gzip"})):
        async with peer(always(b""), identity.server) as there:
            there.respond = always(answer(200, encode(b"x" * LIMITS.body), **headers))
            assert (await client(identity).send(get(there.url()), LIMITS)).body == b"x" * LIMITS.body
            there.respond = always(answer(200, encode(b"x" * (LIMITS.body + 1)), **headers))
            with pytest.raises(AnswerTooLarge):
                await client(identity).send(get(there.url()), LIMITS)


@pytest.mark.parametrize("names", ["aws-chunked", "UTF-8", "none", "identity", "", "aws-chunked, gzip", "Gzip,binary"])
async def test_what_is_no_content_coding_is_ignored(identity: Certificate, names: str) -> None:
    body = gzip.compress(b"text") if "gzip" in names.lower() else b"text"
    async with peer(always(answer(200, body, Content_Encoding=names)), identity.server) as there:
        assert (await client(identity).send(OutgoingRequest("GET", there.url()), LIMITS)).body == b"text"


@pytest.mark.parametrize("end", [b"", b"\0\0\0", b"junk"])
async def test_a_body_may_have_several_parts_of_gzip(identity: Certificate, end: bytes) -> None:
    """Servers compress a body piece by piece, and join the pieces (RFC 1952, 2.2; urllib3/urllib3#1285)."""
    body = gzip.compress(b"a" * 50) + gzip.compress(b"") + gzip.compress(b"b" * 50) + end
    async with peer(always(answer(200, body, Content_Encoding="gzip")), identity.server) as there:
        assert (await client(identity).send(get(there.url()), LIMITS)).body == b"a" * 50 + b"b" * 50


async def test_a_body_has_a_limit_for_its_parts_of_gzip(identity: Certificate) -> None:
    body = gzip.compress(b"") * 1000
    async with peer(always(answer(200, body, Content_Encoding="gzip")), identity.server) as there:
        with pytest.raises(BadAnswer):
            await client(identity).send(get(there.url()), RequestLimits(20, 100_000))


@pytest.mark.parametrize("size", range(1, 50))
async def test_parts_of_gzip_may_come_in_any_pieces(size: int) -> None:
    body = gzip.compress(b"a" * 50) + gzip.compress(b"") + gzip.compress(b"b" * 50) + MEMBER[:1]
    assert await read_body(pieces(body, size), "gzip", 1000) == b"a" * 50 + b"b" * 50


async def test_bytes_after_the_parts_of_gzip_are_not_collected() -> None:
    """zlib copied all of them for each piece: 1.4 s for this body."""
    body = gzip.compress(b"a") + bytes(4_000_000)
    began = process_time()
    assert await read_body(pieces(body, 100), "gzip", len(body)) == b"a"
    assert process_time() - began < 0.5


async def pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


async def test_a_gzip_bomb_is_not_unpacked(identity: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(b"\0" * 9_000_000)
    unpacked: list[int] = []
    decompressor = zlib.decompressobj

    class Counting:
        def __init__(self, bits: int) -> None:
            self._unzip = decompressor(bits)

        def decompress(self, data: bytes, most: int) -> bytes:
            unpacked.append(len(got := self._unzip.decompress(data, most)))
            return got

        @property
        def unused_data(self) -> bytes:
            return self._unzip.unused_data

        @property
        def eof(self) -> bool:
            return self._unzip.eof

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    async with peer(always(answer(200, bomb, Content_Encoding="gzip")), identity.server) as there:
        with pytest.raises(AnswerTooLarge):
            await client(identity).send(get(there.url()), LIMITS)
    assert len(bomb) <= LIMITS.body
    assert sum(unpacked) == LIMITS.body + 1


async def test_a_body_without_an_end_is_cut_off(identity: Certificate) -> None:
    async def endless(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await stream.send_all(b"400\r\n" + b"x" * 1024 + b"\r\n")

    async with peer(endless, identity.server) as there:
        with pytest.raises(AnswerTooLarge):
            await client(identity).send(get(there.url()), LIMITS)


async def test_headers_without_an_end_are_cut_off(identity: Certificate) -> None:
    async def endless(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\n")
        while True:
            await stream.send_all(b"X: " + b"x" * 1024 + b"\r\n")

    async with peer(endless, identity.server) as there:
        with pytest.raises(BadAnswer):
            await client(identity).send(get(there.url()), LIMITS)
    async with peer(always(answer(200, X="x" * 33_000)), identity.server) as there:
        with pytest.raises(AnswerTooLarge):
            await client(identity).send(get(there.url()), LIMITS)


@pytest.mark.parametrize(
    "data",
    [
        b"garbage\r\n\r\n",
        answer(200, gzip.compress(b"x" * 100, mtime=0)[:-9], Content_Encoding="gzip"),
        answer(200, b"x" * 100, Content_Encoding="gzip"),
        answer(200, b"x", Content_Encoding="br"),
        answer(200, zlib.compress(b"x"), Content_Encoding="deflate"),
        answer(200, b"x", Content_Encoding="gzip, gzip"),
    ],
)
async def test_what_cannot_be_read_is_a_bad_answer(identity: Certificate, data: bytes) -> None:
    async with peer(always(data), identity.server) as there:
        with pytest.raises(BadAnswer):
            await client(identity).send(get(there.url()), LIMITS)


async def test_a_connection_that_breaks_is_a_failure(identity: Certificate) -> None:
    async def hang_up(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(answer(200, b"x" * 100)[:-50])
        await trio.aclose_forcefully(stream)

    async with peer(hang_up, identity.server) as there:
        with pytest.raises(OutgoingFailure):
            await client(identity).send(get(there.url()), LIMITS)


# Limits on time, in virtual seconds


async def test_the_whole_exchange_has_a_deadline(identity: Certificate, autojump_clock: trio.testing.MockClock) -> None:
    """Each byte comes in time, and all of them would take for ever."""
    autojump_clock.autojump_threshold = 0.2  # sockets of this machine need some real time

    async def slow(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            await stream.send_all(b"x")
            await trio.sleep(3)

    async with peer(slow, identity.server) as there:
        began = trio.current_time()
        with pytest.raises(TookTooLong):
            await client(identity).send(get(there.url()), LIMITS)
        assert trio.current_time() - began == pytest.approx(20, abs=1)


@pytest.mark.parametrize(
    ("beginning", "drip"),
    [(b"HTTP/1.1 200 OK\r\nX: ", b"x"), (b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (b"", b"HTTP/1.1 103 Early\r\n\r\n")],
    ids=["a head in drips", "continuations without an end", "hints without an end"],
)
async def test_an_answer_that_never_begins_has_the_same_deadline(
    identity: Certificate, autojump_clock: trio.testing.MockClock, beginning: bytes, drip: bytes
) -> None:
    autojump_clock.autojump_threshold = 0.2

    async def slow(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(beginning)
        while True:
            await stream.send_all(drip)
            await trio.sleep(4)  # each time, the clock waits for the sockets

    async with peer(slow, identity.server) as there:
        began = trio.current_time()
        with pytest.raises(TookTooLong):
            await client(identity).send(get(there.url()), LIMITS)
        assert trio.current_time() - began == pytest.approx(20, abs=1)


async def test_looking_up_a_name_has_a_deadline_of_its_own(
    identity: Certificate, autojump_clock: trio.testing.MockClock
) -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await trio.sleep_forever()
        raise AssertionError

    began = trio.current_time()
    with pytest.raises(TookTooLong):
        await client(identity, resolve=never).send(get("https://peer.test/"), LIMITS)
    assert trio.current_time() - began == pytest.approx(5)


# Limits on connections


async def test_one_host_has_a_few_connections_and_leaves_the_others_theirs(
    identity: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PER_HOST", 3)
    go_on = trio.Event()

    async def busy(stream: trio.abc.Stream, asked: Asked) -> None:
        if asked.headers["host"].startswith("peer.test"):
            await go_on.wait()
        await stream.send_all(answer(200))

    ours = client(identity)
    async with peer(busy, identity.server) as there, trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(ours.send, get(there.url()), LIMITS)
        while len(there.asked) < 3:
            await trio.lowlevel.checkpoint()
        assert (await ours.send(get(there.url(host="other.test")), LIMITS)).status == 200
        assert ours.inspect()["hosts"] == 1
        assert len(there.asked) == 3 + 1
        go_on.set()
    assert len(there.asked) == 11
    assert there.most_at_once <= 3 + 1
    assert ours.inspect()["hosts"] == 0


async def test_unused_connections_are_closed_after_a_while_and_those_of_many_hosts_at_once(
    identity: Certificate, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(host_pools, "IDLE_HOSTS", 1)
    ours, stopping = client(identity), trio.Event()
    async with peer(always(answer(200)), identity.server) as there, trio.open_nursery() as nursery:
        await nursery.start(ours.run, stopping)
        for host in HOSTS:
            await ours.send(get(there.url(host=host)), LIMITS)
        assert ours.inspect() == {"connections": 1, "hosts": 0}, "only the latest host keeps one"
        mock_clock.jump(host_pools.IDLE)
        for _ in range(100_000):  # the clock of a deadline stands still
            if not there.at_once:
                break
            await trio.lowlevel.checkpoint()
        assert ours.inspect() == {"connections": 0, "hosts": 0}
        assert (await ours.send(get(there.url()), LIMITS)).status == 200
        stopping.set()


async def test_connections_are_closed_in_the_end(identity: Certificate) -> None:
    ours, stopping = client(identity), trio.Event()
    async with peer(always(answer(200)), identity.server) as there, trio.open_nursery() as nursery:
        await nursery.start(ours.run, stopping)
        await ours.send(get(there.url()), LIMITS)
        assert ours.inspect() == {"connections": 1, "hosts": 0}
        stopping.set()
        while there.at_once:
            await trio.lowlevel.checkpoint()
    assert ours.inspect() == {"connections": 0, "hosts": 0}


def test_texts_of_failures_have_neither_urls_nor_words_of_the_other_server() -> None:
    for path in Path(module.__file__).parent.glob("*.py"):
        raised = [line for line in path.read_text("utf-8").splitlines() if "raise " in line]
        assert not [line for line in raised if 'f"' in line]


async def test_a_test_host_may_have_its_place_in_its_name(identity: Certificate) -> None:
    """`peer.test=127.0.0.1:8443`: nothing is looked up, and the certificate must be that of the name."""

    async def nowhere(host: str, port: int) -> Sequence[str]:
        raise Unreachable("the host's name was not found")

    async with peer(always(answer(200)), identity.server) as there:
        ours = client(identity, hosts=[f"peer.test=127.0.0.1:{there.port}"], resolve=nowhere)
        assert (await ours.send(get("https://peer.test/"), LIMITS)).status == 200
        with pytest.raises(Unreachable):
            await ours.send(get("https://other.test/"), LIMITS)


@pytest.mark.parametrize("place", ["", "127.0.0.1", "peer.test:443", "127.0.0.1:0", "127.0.0.1:99999"])
def test_a_wrong_place_of_a_test_host_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="address"):
        OutgoingClient("Troupe/test", test_hosts=[f"peer.test={place}"])

"""Which address a connection is from, and how many connections an address may have."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress

import pytest
import trio

from troupe.http.server import limits
from troupe.http.server.addresses import SIGNATURE, Addresses, AddressRules, NoProxyHeader, read_proxy_header

from ..clients import Person, Stage
from .serving import Serving, request, rest, say, serving

pytestmark = pytest.mark.usefixtures("both_ways")

LOCAL = (ipaddress.ip_network("127.0.0.1"),)
PROXIED = AddressRules(2, LOCAL, proxy_protocol=True)
ASK = request(b"GET /api/v1/instance")


def binary(command: int, family: int, *addresses: str, ports: bytes = b"\x10\0\x01\xbb", more: bytes = b"") -> bytes:
    body = b"".join(ipaddress.ip_address(one).packed for one in addresses) + ports + more
    return SIGNATURE + bytes([command, family]) + len(body).to_bytes(2) + body


HEADERS = {
    "text": (b"PROXY TCP4 192.0.2.7 198.51.100.1 4096 443\r\n", ("192.0.2.7", 4096)),
    "text, IPv6": (b"PROXY TCP6 2001:db8::7 2001:db8::1 4096 443\r\n", ("2001:db8::7", 4096)),
    "text, unknown": (b"PROXY UNKNOWN\r\n", None),
    "text, unknown with more": (b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", None),
    "binary": (binary(0x21, 0x11, "192.0.2.7", "198.51.100.1"), ("192.0.2.7", 4096)),
    "binary, IPv6": (binary(0x21, 0x21, "2001:db8::7", "2001:db8::1"), ("2001:db8::7", 4096)),
    "binary, extended": (binary(0x21, 0x11, "192.0.2.7", "198.51.100.1", more=b"\x03\0\x04abcd"), ("192.0.2.7", 4096)),
    "binary, of the proxy itself": (binary(0x20, 0x00, ports=b""), None),
    "binary, another family": (binary(0x21, 0x31, ports=bytes(216)), None),
}  # fmt: skip
WRONG = {
    "none": ASK,
    "nothing": b"",
    "half of one": b"PROXY TCP4 192.0.2.7",
    "no address": b"PROXY TCP4 nowhere 198.51.100.1 4096 443\r\n",
    "no port": b"PROXY TCP4 192.0.2.7 198.51.100.1\r\n",
    "another protocol": b"PROXY UDP4 192.0.2.7 198.51.100.1 4096 443\r\n",
    "too long": b"PROXY TCP4 " + b"1" * 200 + b"\r\n",
    "another version": binary(0x11, 0x11, "192.0.2.7", "198.51.100.1"),
    "another command": binary(0x22, 0x11, "192.0.2.7", "198.51.100.1"),
    "addresses too short": binary(0x21, 0x21, "192.0.2.7", "198.51.100.1"),
    "too large": SIGNATURE + b"\x21\x11\xff\xff" + bytes(0xFFFF),
}


async def sent(data: bytes) -> trio.SocketStream:
    """The server's end of a connection on which a client sends this, and then nothing more."""
    ours, theirs = (trio.SocketStream(trio.socket.from_stdlib_socket(one)) for one in socket.socketpair())
    async with theirs:
        await theirs.send_all(data)
    return ours


@pytest.mark.parametrize("name", HEADERS)
async def test_a_header_is_read_and_nothing_behind_it(name: str) -> None:
    header, source = HEADERS[name]
    async with await sent(header + ASK) as stream:
        assert await read_proxy_header(stream) == source
        assert await rest(stream) == ASK


@pytest.mark.parametrize("name", WRONG)
async def test_a_connection_without_a_header_is_closed(stage: Stage, name: str) -> None:
    if name != "too large":  # more than a socket pair takes
        async with await sent(WRONG[name]) as stream:
            with pytest.raises(NoProxyHeader):
                await read_proxy_header(stream)
    async with serving(stage, rules=lambda: PROXIED) as server:
        stream = await server.connect()
        async with stream:
            with suppress(trio.BrokenResourceError):  # closed already, with bytes unread
                await stream.send_all(WRONG[name])
                await stream.send_eof()
                assert await rest(stream) == b""


async def test_requests_are_of_the_client_that_the_proxy_names(stage: Stage, ada: Person) -> None:
    token = b"Authorization: Bearer %b" % (ada.token or "").encode()
    for rules, header in ((PROXIED, HEADERS["text"][0]), (PROXIED, HEADERS["binary"][0]), (AddressRules(), b"")):
        async with serving(stage, rules=lambda rules=rules: rules) as server:
            for close in (b"Connection: close\r\n", b""):
                ask = request(b"GET /api/v1/accounts/verify_credentials", token)
                text = header + ask.replace(b"Connection: close\r\n", close) + (b"" if close else ASK)
                assert (await say(server.port, text)).startswith(b"HTTP/1.1 200")
                (visit,) = stage.http_context.visits.take()
                assert str(visit.ip) == ("192.0.2.7" if header else "127.0.0.1")


async def test_a_proxy_that_names_no_client_in_time_is_closed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PROXY_HEADER", 0.2)
    async with serving(stage, rules=lambda: PROXIED) as server:
        assert await say(server.port, b"PROXY TCP4 ") == b""


async def test_a_stop_does_not_wait_for_a_header(stage: Stage) -> None:
    async with serving(stage, 0.1, rules=lambda: PROXIED) as server:
        stream = await server.connect()
        assert await server.stop() < limits.PROXY_HEADER
        await trio.aclose_forcefully(stream)


async def test_connections_of_one_address_beyond_the_limit_get_503(stage: Stage) -> None:
    async def connect(server: Serving, address: bytes) -> trio.SocketStream:
        stream = await server.connect()
        await stream.send_all(b"PROXY TCP6 %b ::1 1 2\r\n" % address + ASK.replace(b"Connection: close\r\n", b""))
        return stream

    told: list[str] = []

    def note(event: str, **_: object) -> None:
        told.append(event)

    async with serving(stage, rules=lambda: PROXIED, record=note) as server:
        open_ones = [await connect(server, b"2001:db8::%d" % number) for number in (1, 2)]
        for stream in open_ones:
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")
        refused = await rest(await connect(server, b"2001:db8::3"))  # of the same /64
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 5\r\n" in refused
        assert told == ["connections.full"]
        elsewhere = await connect(server, b"2001:db8:1::1")
        assert (await elsewhere.receive_some()).startswith(b"HTTP/1.1 200")
        for stream in (*open_ones, elsewhere):
            await stream.aclose()
        while not (await (again := await connect(server, b"2001:db8::4")).receive_some()).startswith(b"HTTP/1.1 200"):
            await again.aclose()
        await again.aclose()


def test_trusted_proxies_and_this_machine_may_have_any_number() -> None:
    addresses = Addresses(lambda: AddressRules(1, (ipaddress.ip_network("10.0.0.0/8"),)))
    for address in ("127.0.0.1", "::1", "10.1.2.3", "::ffff:10.1.2.3"):
        assert all(addresses.enter(address) for _ in range(3))
    assert [addresses.enter("192.0.2.1"), addresses.enter("192.0.2.1"), addresses.enter("192.0.2.2")] == [
        True,
        False,
        True,
    ]
    addresses.leave("192.0.2.1")
    assert addresses.enter("192.0.2.1")


async def test_a_request_with_too_many_headers_is_refused(port: int) -> None:
    assert (await say(port, request(b"GET /api/v1/instance", *[b"X-One: 1"] * 300))).startswith(b"HTTP/1.1 431")

"""Which protocols the server speaks, and which requests it refuses because a proxy may read them differently."""

from collections.abc import AsyncIterator

import httpx
import pytest
import trio
from h2.connection import H2Connection
from h2.events import StreamEnded

from ..clients import Stage
from .serving import PATIENCE, Serving, ask, connect_by_tls, http2_client, request, say, serving, tls_server

pytestmark = pytest.mark.usefixtures("both_ways")

ASK = b"GET /api/v1/instance HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
async def site(stage: Stage) -> AsyncIterator[Serving]:
    async with serving(stage) as server:
        yield server


def assert_refused(answer: bytes) -> None:
    """One 400 in the API's shape; the connection is closed, because all was read that the server had to say."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n"), answer
    assert b"\r\nx-content-type-options: nosniff" in head
    assert body == b'{"error":"Bad Request"}'


async def test_a_request_to_change_to_http_2_is_answered_by_http_1(site: Serving) -> None:
    headers = (b"Upgrade: h2c", b"Connection: Upgrade, HTTP2-Settings", b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA")
    answer = await say(site.port, request(b"GET /api/v1/instance", *headers))
    assert answer.startswith(b"HTTP/1.1 200")
    assert b" 101 " not in answer


async def test_the_preface_of_http_2_is_refused_on_a_plain_connection(site: Serving) -> None:
    assert_refused(await say(site.port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"))


@pytest.mark.parametrize("version", [b"0.9", b"2.0", b"3.0"])
@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
async def test_other_versions_of_http_are_refused(site: Serving, method: bytes, version: bytes) -> None:
    assert_refused(await say(site.port, b"%b /api/v1/instance HTTP/%b\r\nHost: localhost\r\n\r\n" % (method, version)))


@pytest.mark.parametrize("http2", [False, True])
async def test_a_tls_handshake_chooses_the_version(stage: Stage, http2: bool) -> None:
    async with (
        serving(stage, encryption=tls_server()) as server,
        httpx.AsyncClient(http2=http2, verify=False) as client,
    ):
        for path in ("/api/v1/instance", "/about"):
            answer = await client.get(f"https://127.0.0.1:{server.port}{path}")
            assert (answer.status_code, answer.http_version) == (200, "HTTP/2" if http2 else "HTTP/1.1")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/v1/instance HTTP/1.1\nHost: localhost\n\n",
        b"GET /api/v1/instance HTTP/1.1\nHost: localhost\r\n\r\n",
        ASK + b"X-One: 1\nX-Two: 2\r\n\r\n",
        ASK + b"X-One: 1\r\n\n",
        ASK + b"X-One: 1\n\r\n",
        ASK + b"X-One: 1\rX-Two: 2\r\n\r\n",
        b"\n" + ASK + b"\r\n",
        ASK + b"X-One: 1\r\n two\r\n\r\n",
        ASK + b"X-One: 1\r\n\ttwo\r\n\r\n",
        ASK + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        ASK + b"X-One : 1\r\n\r\n",
        ASK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_a_head_that_can_be_read_in_two_ways_is_refused(site: Serving, head: bytes) -> None:
    assert_refused(await say(site.port, head + ASK + b"\r\n"))


@pytest.mark.parametrize("trailers", [b"X-One: 1\n\r\n", b"X-One: 1\r\n two\r\n\r\n", b"\n", b"X-One: 1\n\n"])
async def test_so_are_trailers(site: Serving, trailers: bytes) -> None:
    headers = (b"Content-Type: application/json", b"Transfer-Encoding: chunked")
    begun = request(b"POST /api/v1/apps", *headers, body=b"2\r\n{}\r\n0\r\n")
    assert_refused(await say(site.port, begun + trailers + ASK + b"\r\n"))


async def test_a_body_may_hold_any_bytes(site: Serving) -> None:
    body = b"redirect_uris=urn:ietf:wg:oauth:2.0:oob&client_name=a\nb\r\n folded\n\n"
    headers = (b"Content-Type: application/x-www-form-urlencoded", b"Content-Length: %d" % len(body))
    assert (await say(site.port, request(b"POST /api/v1/apps", *headers, body=body))).startswith(b"HTTP/1.1 200")


async def test_a_head_may_come_byte_by_byte(site: Serving) -> None:
    stream = await site.connect()
    async with stream:
        for byte in request(b"GET /health"):
            await stream.send_all(bytes([byte]))
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 200")


async def test_the_connection_closes_after_a_request_with_two_lengths(site: Serving) -> None:
    headers = b"Content-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    begun = b"POST /api/v1/apps HTTP/1.1\r\nHost: localhost\r\n" + headers + b"2\r\n{}\r\n0\r\n\r\n"
    answer = await say(site.port, begun + ASK + b"\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nconnection: close\r\n" in answer.lower()


@pytest.mark.parametrize("name", [b"Sec-WebSocket-Protocol", b"Sec-WebSocket-Extensions", b"Sec-WebSocket-Version"])
async def test_a_handshake_that_is_not_ascii_is_refused(
    site: Serving, name: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    headers = (b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Key: a", name + b": \xff")
    head = b"\r\n".join([b"GET /api/v1/streaming HTTP/1.1", b"Host: localhost", *headers, b"", b""])
    assert_refused(await say(site.port, head))
    assert caplog.records == []


async def test_data_for_a_request_that_was_answered_harms_no_other_one(stage: Stage) -> None:
    async with serving(stage, encryption=tls_server()) as server:
        stream = await connect_by_tls(server, "h2")
        client = http2_client()
        number = client.get_next_available_stream_id()
        path = "/api/v1/streaming/user"  # refused, and the body not read
        head = {":method": "POST", ":scheme": "https", ":authority": "localhost", ":path": path}
        client.send_headers(number, list(head.items()))
        await hear(stream, client, StreamEnded)
        client.send_data(number, b"{}")
        ask(client)
        await hear(stream, client, StreamEnded)
        await trio.aclose_forcefully(stream)


async def hear(stream: trio.abc.Stream, client: H2Connection, kind: type) -> None:
    """Send the pending bytes, and read until an event of this type comes."""
    with trio.fail_after(PATIENCE):
        await stream.send_all(client.data_to_send())
        while not any(isinstance(event, kind) for event in client.receive_data(await stream.receive_some())):
            pass

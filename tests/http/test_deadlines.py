"""Clients that do not do their part: every one of them is let go, while the server runs and when it stops."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import trio
from h2.events import ResponseReceived, StreamEnded
from trio.testing import wait_all_tasks_blocked

from troupe.http.access.authentication import Tokens
from troupe.http.answers.cached import CachedAnswers
from troupe.http.intake import request as intake
from troupe.http.intake import request as requests
from troupe.http.server import limits

from ..clients import Stage
from .serving import (
    PATIENCE,
    Serving,
    ask,
    connect_by_tls,
    descriptors,
    http2_client,
    rest,
    serving,
    tls_server,
    until_descriptors,
)

pytestmark = pytest.mark.usefixtures("both_ways")

ASK = b"GET /api/v1/instance HTTP/1.1\r\nHost: localhost\r\n\r\n"
HANDSHAKE = (
    b"GET /api/v1/streaming%b HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: %d\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
# What a stop may take beyond the server's own deadlines, on a busy machine.
SLACK = 3.0
GRACE = 0.2
# Seconds in which no task of this process does anything: bytes that were sent have been read, or nobody reads them. The
# pool looks at its calls more seldom.
QUIET = 0.05

Client = Callable[[Serving], Awaitable[trio.abc.Stream]]


@pytest.fixture(autouse=True)
def shorter_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server wait less for the clients of its last moments: most of these tests do nothing else."""
    monkeypatch.setattr(limits, "CLOSE", 0.2)
    monkeypatch.setattr(limits, "LINGER", 0.1)


async def http2_without_a_window(server: Serving) -> trio.SSLStream[trio.SocketStream]:
    """A client that asks, and has no room for any byte of an answer."""
    stream = await connect_by_tls(server, "h2")
    client = http2_client(initial_window_size=0)
    ask(client)
    await stream.send_all(client.data_to_send())
    with trio.fail_after(PATIENCE):
        while b"\x01\x04" not in await stream.receive_some():  # the head of an answer: HEADERS, END_HEADERS
            pass
    return stream


async def deaf(server: Serving) -> trio.SocketStream:
    """A client that asks until the server takes no more, because nothing of the answers is read."""
    raw = trio.socket.socket()
    raw.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4096)
    await raw.connect(("127.0.0.1", server.port))
    stream = trio.SocketStream(raw)
    long = ASK.replace(b"\r\n\r\n", b"\r\nX-Padding: %b\r\n\r\n" % (b"x" * 8000))

    async def send() -> None:
        with suppress(trio.BrokenResourceError):
            while True:
                await stream.send_all(long)

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await wait_all_tasks_blocked(QUIET)
            nursery.cancel_scope.cancel()
    return stream


async def silent(text: bytes, server: Serving) -> trio.SocketStream:
    """A client that says this and then nothing."""
    stream = await server.connect()
    await stream.send_all(text)
    return stream


async def deaf_websocket(server: Serving) -> trio.SocketStream:
    """A client that never answers a close frame."""
    stream = await silent(HANDSHAKE % (b"?stream=public", 13), server)
    assert (await stream.receive_some(12)).startswith(b"HTTP/1.1 101")
    return stream


CLIENTS: dict[str, tuple[Client, bool]] = {
    "HTTP/2 without a window": (http2_without_a_window, True),
    "a TLS handshake that does not go on": (partial(silent, b"\x16\x03\x01"), True),
    "HTTP/1.1 that does not read": (deaf, False),
    "half a head": (partial(silent, b"GET / HTTP/1.1\r\nHost: loc"), False),
    "half a body": (partial(silent, b"POST /api/v1/apps HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                            b"Content-Length: 100\r\n\r\n{"), False),
    "a WebSocket without a close": (deaf_websocket, False),
}  # fmt: skip


@pytest.mark.parametrize("name", CLIENTS)
async def test_no_client_holds_up_the_end_of_the_server(stage: Stage, name: str) -> None:
    client, tls = CLIENTS[name]
    async with serving(stage, GRACE, encryption=tls_server() if tls else None) as server:
        before = descriptors()
        stream = await client(server)
        took = await server.stop()
        await until_descriptors(before)  # the listener's are gone, the client's is not
        await trio.aclose_forcefully(stream)
    assert took < GRACE + limits.CLOSE + SLACK


@pytest.mark.parametrize(
    ("name", "deadline"),
    [
        ("HTTP/2 without a window", "SEND"),
        ("HTTP/1.1 that does not read", "SEND"),
        ("a TLS handshake that does not go on", "TLS_HANDSHAKE"),
        ("half a head", "KEEP_ALIVE"),
    ],
)
async def test_a_client_that_keeps_its_connection_loses_it(
    stage: Stage, name: str, deadline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, tls = CLIENTS[name]
    monkeypatch.setattr(limits, deadline, 0.5)
    async with serving(stage, encryption=tls_server() if tls else None) as server:
        stream = await client(server)
        if client is deaf:  # which would be served if it began to read
            await trio.sleep(1.0)
        await ends(stream)


async def test_a_head_in_drips_has_no_more_time_than_one_that_stops(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "KEEP_ALIVE", 0.5)
    async with serving(stage) as server, await server.connect() as stream:
        await drips(stream, b"GET /inbox HTTP/1.1\r\nX: ")


@pytest.mark.parametrize("path", [b"/inbox", b"/users/ada/inbox", b"/api/v1/apps"])
async def test_a_body_in_drips_is_refused(stage: Stage, path: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    await stage.person("ada")
    monkeypatch.setattr(intake, "BODY_SECONDS", 0.5)
    monkeypatch.setattr(intake, "BYTES_A_SECOND", 2**30)
    monkeypatch.setattr(requests, "LEFT_SECONDS", 0.2)
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{"
    async with serving(stage) as server, await server.connect() as stream:
        assert (await drips(stream, head % path)).startswith(b"HTTP/1.1 408")


async def drips(stream: trio.SocketStream, beginning: bytes) -> bytes:
    """Send one byte after the other until the server ends the connection. Return what it has said."""
    said: list[bytes] = []

    async def send() -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await stream.send_all(beginning)
            while True:
                await stream.send_all(b"x")
                await trio.sleep(0.05)

    with trio.fail_after(PATIENCE), suppress(trio.BrokenResourceError):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            while data := await stream.receive_some():
                said.append(bytes(data))
            nursery.cancel_scope.cancel()
    return b"".join(said)


async def test_fifty_clients_without_a_window_that_hang_up_leave_nothing(stage: Stage) -> None:
    async with serving(stage, encryption=tls_server()) as server:
        await ready(stage)
        before = descriptors()
        for _ in range(50):
            await trio.aclose_forcefully(await http2_without_a_window(server))
        await until_descriptors(before)


async def test_an_http_2_client_that_takes_its_request_back_is_idle(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "KEEP_ALIVE", 0.3)
    async with serving(stage, encryption=tls_server()) as server:
        stream = await connect_by_tls(server, "h2")
        client = http2_client(initial_window_size=0)
        client.reset_stream(ask(client))
        await stream.send_all(client.data_to_send())
        await ends(stream)


async def test_an_unread_body_does_not_keep_its_connection(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is larger than what waits for the application, which answers without reading."""

    async def find(*_: object) -> None:
        await trio.sleep(0.5)

    monkeypatch.setattr(Tokens, "find", find)
    head = b"GET /api/v1/streaming/user?access_token=a HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n"
    async with serving(stage) as server, trio.open_nursery() as nursery:
        stream = await server.connect()
        nursery.start_soon(send_until_closed, stream, head + bytes(4_000_000))
        answer = await rest(stream)
        nursery.cancel_scope.cancel()
    assert answer.startswith(b"HTTP/1.1 401")


async def send_until_closed(stream: trio.SocketStream, data: bytes) -> None:
    with suppress(trio.BrokenResourceError):
        await stream.send_all(data)


@pytest.mark.parametrize("path", [b"/about", b"/api/v1/instance"])
async def test_a_connection_is_idle_after_an_answer(stage: Stage, path: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEEP_ALIVE", 0.3)
    async with serving(stage) as server:
        answer = await rest(await silent(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path, server))
        assert answer.startswith(b"HTTP/1.1 200")


async def test_a_handshake_of_another_version_of_websockets_is_refused_and_closed(stage: Stage) -> None:
    async with serving(stage) as server:
        answer = await rest(await silent(HANDSHAKE % (b"", 12), server))
    assert answer.startswith(b"HTTP/1.1 426")
    assert b"\r\nsec-websocket-version: 13\r\n" in answer
    assert answer.endswith(b'{"error":"Upgrade Required"}')


@pytest.mark.parametrize("tls", [False, True])
async def test_frames_before_the_handshake_is_accepted_are_read_after_it(stage: Stage, tls: bool) -> None:
    """Those of a client that does not wait for the answer, whether or not they come in the same packet."""
    command = b'{"type":"subscribe","stream":"nonsense"}'
    frame = b"\x81%c\0\0\0\0%b" % (0x80 | len(command), command)
    async with serving(stage, encryption=tls_server() if tls else None) as server:
        for pieces in ([frame], [frame[:1], frame[1:]], [frame[:9], frame[9:]]):
            stream = await connect_by_tls(server, "http/1.1") if tls else await server.connect()
            async with stream:
                await stream.send_all(HANDSHAKE % (b"", 13) + pieces[0])
                for piece in pieces[1:]:
                    await stream.send_all(piece)
                heard = b""
                with trio.fail_after(PATIENCE):
                    while b"Unknown stream type" not in heard:
                        heard += await stream.receive_some()
                assert heard.startswith(b"HTTP/1.1 101")
                await trio.aclose_forcefully(stream)


# Requests that the end of the server cuts off ---------------------------------------------------------------------


async def never(*_: object) -> Any:
    await trio.sleep_forever()


@pytest.mark.parametrize(
    "text",
    [
        ASK,
        ASK.replace(b"Host:", b"Connection: close\r\nHost:"),
        b"POST /oauth/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
        HANDSHAKE % (b"?access_token=a", 13),
    ],
)
async def test_a_request_that_the_stop_cuts_off_is_told_to_come_back(
    stage: Stage, text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CachedAnswers, "get", never)
    monkeypatch.setattr(Tokens, "find", never)
    async with serving(stage, GRACE) as server:
        stream = await silent(text, server)
        await wait_all_tasks_blocked(QUIET)
        server.stopping.set()
        assert_told_to_come_back(await rest(stream))


async def test_so_is_one_that_a_cancelled_server_cuts_off(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CachedAnswers, "get", never)
    async with serving(stage, grace=60) as server:
        stream = await silent(ASK, server)
        await wait_all_tasks_blocked(QUIET)
        server.cancel()
        assert_told_to_come_back(await rest(stream))


def assert_told_to_come_back(answer: bytes) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n"), answer
    assert b"\r\nretry-after: 5\r\n" in head
    assert b"\r\nconnection: close" in head
    assert body == b'{"error":"There was a temporary problem serving your request, please try again"}'


async def test_so_is_one_over_tls(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CachedAnswers, "get", never)
    async with serving(stage, GRACE, encryption=tls_server()) as server:
        stream = await connect_by_tls(server, "http/1.1")
        await stream.send_all(ASK)
        await wait_all_tasks_blocked(QUIET)
        server.stopping.set()
        assert_told_to_come_back(await rest(stream))


@pytest.mark.parametrize("window", [0, 65535])
async def test_so_are_all_of_an_http_2_connection(stage: Stage, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CachedAnswers, "get", never)
    async with serving(stage, GRACE, encryption=tls_server()) as server:
        stream = await connect_by_tls(server, "h2")
        client = http2_client(initial_window_size=window)
        numbers = {ask(client) for _ in range(3)}
        await stream.send_all(client.data_to_send())
        await wait_all_tasks_blocked(QUIET)
        server.stopping.set()
        events = client.receive_data(await rest(stream))
    heads = {event.stream_id: dict(event.headers) for event in events if isinstance(event, ResponseReceived)}
    ended = {event.stream_id for event in events if isinstance(event, StreamEnded)}
    assert set(heads) == ended == numbers
    assert {(head[b":status"], head[b"retry-after"]) for head in heads.values()} == {(b"503", b"5")}


async def ready(stage: Stage) -> None:
    """Have everything open that the first request opens."""
    await stage.anybody().get("/api/v1/instance")


async def ends(stream: trio.abc.ReceiveStream) -> None:
    """The server closes."""
    try:
        await rest(stream)
    except trio.BrokenResourceError:
        return

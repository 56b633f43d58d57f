"""hypercorn and the application over real sockets, spoken to byte by byte."""

import socket
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from troupe.http.answers.cached import CachedAnswers
from troupe.http.intake import request as requests
from troupe.http.server.listener import LARGEST_HEAD, bind, bind_path, serve

from ..clients import Stage
from .serving import PATIENCE, request, rest, say

pytestmark = pytest.mark.usefixtures("both_ways")


async def test_head_sends_no_body(port: int) -> None:
    head, _, body = (await say(port, request(b"HEAD /api/v1/instance"))).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"\r\ndate: " in head.lower()
    assert body == b""


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server wait for the rest of a body that it refused only for a moment."""
    monkeypatch.setattr(requests, "LEFT_SECONDS", 0.2)


@pytest.mark.usefixtures("little_patience")
async def test_a_declared_body_too_large_is_refused_at_once(port: int) -> None:
    headers = (b"Content-Type: application/json", b"Content-Length: 99999999")
    assert (await say(port, request(b"POST /api/v1/apps", *headers))).startswith(b"HTTP/1.1 413")


@pytest.mark.usefixtures("little_patience")
async def test_an_endless_body_is_refused_on_the_way(port: int) -> None:
    headers = (b"Content-Type: application/json", b"Transfer-Encoding: chunked")
    chunks = (b"10000\r\n" + b"x" * 0x10000 + b"\r\n") * 17
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(request(b"POST /api/v1/apps", *headers) + chunks)
        assert (await stream.receive_some()).startswith(b"HTTP/1.1 413")


async def test_headers_without_end_are_refused(port: int) -> None:
    answer = await say(port, b"GET /api/v1/instance HTTP/1.1\r\nX-Long: " + b"x" * (4 * LARGEST_HEAD))
    assert answer == b"" or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))


async def test_what_is_no_http_ends_the_connection(port: int) -> None:
    answer = await say(port, b"\x16\x03\x01 hello\r\n\r\n")
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("host", [b"a..b", b"a" * 80, b"[::1", b"\xe4", b"x y:z"])
async def test_a_host_that_is_no_name_harms_nothing(port: int, host: bytes) -> None:
    for path in (b"/about", b"/api/v1/instance"):
        answer = await say(port, b"GET %b HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % (path, host))
        assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 400"))


async def test_a_websocket_where_nothing_streams_is_refused(port: int) -> None:
    handshake = (
        b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13",
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    for path in (b"/api/v1/instance", b"/", b"/nothing"):
        answer = await say(port, b"\r\n".join([b"GET %b HTTP/1.1" % path, b"Host: localhost", *handshake, b"", b""]))
        assert answer.startswith(b"HTTP/1.1 404")
        assert b'{"error":"Not Found"}' in answer


async def test_the_server_does_not_say_what_it_is_made_of(port: int) -> None:
    assert b"\r\nserver:" not in (await say(port, request(b"GET /api/v1/instance"))).lower()


async def test_a_connection_serves_several_requests(port: int) -> None:
    one = b"GET /api/v2/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = await say(port, one + one + request(b"GET /api/v2/nothing"))
    assert answer.count(b"HTTP/1.1 404") == 3


async def test_a_client_may_go_on_sending_after_the_last_answer(port: int) -> None:
    """Otherwise the kernel resets the connection, and drops what the client has not read yet."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        await stream.send_all(request(b"GET /api/v1/instance"))
        for _ in range(3):
            await trio.testing.wait_all_tasks_blocked(0.01)
            await stream.send_all(b"more")
        assert (await rest(stream)).startswith(b"HTTP/1.1 200")


async def test_stopping_finishes_what_runs_and_takes_nothing_new(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    running, go_on, stopping, answers = trio.Event(), trio.Event(), trio.Event(), list[bytes]()
    listeners = bind([("127.0.0.1", 0)])
    port = listeners[0].getsockname()[1]

    async def slow(*_: object) -> bytes:
        running.set()
        await go_on.wait()
        return b"{}"

    async def ask() -> None:
        answers.append(await say(port, b"GET /api/v1/instance HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    monkeypatch.setattr(CachedAnswers, "get", slow)
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, stage.app, listeners, stopping, 10.0)
        nursery.start_soon(ask)
        await running.wait()
        stopping.set()
        await trio.testing.wait_all_tasks_blocked(0.01)
        with pytest.raises(OSError, match="connect"):
            await trio.open_tcp_stream("127.0.0.1", port)
        go_on.set()
    assert answers[0].startswith(b"HTTP/1.1 200")
    assert answers[0].endswith(b"{}")


class LateClients:
    """Clients that connect at the moments that a test chooses, to each of some listening sockets."""

    def __init__(self, listeners: list[socket.socket]) -> None:
        self._addresses = [(listener.family, listener.getsockname()) for listener in listeners]
        self._clients: list[socket.socket] = []

    def connect(self) -> None:
        """Connect and ask. A client that is kept out gives up soon."""
        for family, address in self._addresses:
            client = socket.socket(family, socket.SOCK_STREAM)
            client.settimeout(0.05)
            try:
                client.connect(address)
                client.sendall(request(b"GET /api/v1/instance"))
            except OSError:
                client.close()
            else:
                self._clients.append(client)

    def answers(self) -> list[bytes]:
        """Return the beginning of the answer to each client that was connected."""
        return [self._answer(client) for client in self._clients]

    def _answer(self, client: socket.socket) -> bytes:
        with client:
            try:
                return client.recv(12)
            except OSError as error:
                return repr(error).encode()


@pytest.mark.parametrize("moment", ["before the release", "before a close"])
async def test_no_client_that_connects_while_the_server_stops_is_cut(
    stage: Stage, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moments are those after the last `accept`, and the sockets are of each kind."""
    listeners = [*bind([("127.0.0.1", 0), ("::1", 0)]), bind_path(tmp_path / "socket")]
    clients, stopping, close = LateClients(listeners), trio.Event(), socket.socket.close

    def release() -> bool:
        if moment == "before the release":
            clients.connect()
        return True

    def close_a_socket(closed: socket.socket) -> None:
        if closed.fileno() >= 0 and closed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            clients.connect()
        close(closed)

    if moment == "before a close":
        monkeypatch.setattr(socket.socket, "close", close_a_socket)
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve, release=release), stage.app, listeners, stopping, PATIENCE)
        stopping.set()
    answers = clients.answers()
    assert answers == [b"HTTP/1.1 200"] * len(answers)
    assert len(answers) >= len(listeners)


async def test_a_handshake_that_has_begun_is_finished_while_the_server_stops(stage: Stage) -> None:
    """Of a client far away, whose last packet of the handshake comes when new clients are kept out already."""
    listener = socket.create_server(("0.0.0.0", 0))
    listener.setblocking(False)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 5)  # ends the handshake with the first data
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, stage.app, [listener], stopping, PATIENCE)
        with socket.create_connection(("127.0.0.1", listener.getsockname()[1]), PATIENCE) as client:
            stopping.set()
            await trio.testing.wait_all_tasks_blocked(0.01)
            client.sendall(request(b"GET /api/v1/instance"))
            with trio.fail_after(PATIENCE):
                await trio.lowlevel.wait_readable(client)
            assert client.recv(12) == b"HTTP/1.1 200"


def test_both_loopback_addresses_are_bound_and_none_is_left_when_one_is_taken() -> None:
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    with taken, pytest.raises(OSError, match="in use"):
        bind([("::1", port), ("127.0.0.1", port)])
    listeners = bind([("127.0.0.1", port), ("::1", port)])
    assert {listener.getsockname()[:2] for listener in listeners} >= {("127.0.0.1", port)}
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ([("127.0.0.1", 0), ("2001:db8::1", 0)], 1),  # a machine without this address of IPv6
        ([("192.0.2.1", 0), ("::1", 0)], 1),
        ([("192.0.2.1", 0)], None),
        ([("127.0.0.1", 0), ("192.0.2.1", 1)], None),  # the other port has none at all
    ],
)
def test_a_port_needs_one_of_its_addresses(addresses: list[tuple[str, int]], expected: int | None) -> None:
    if expected is None:
        with pytest.raises(OSError, match="Cannot assign"):
            bind(addresses)
        return
    listeners = bind(addresses)
    assert len(listeners) == expected
    for listener in listeners:
        listener.close()

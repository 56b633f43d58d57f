"""SIGTERM: what was asked is answered, what is open is closed, and the process is gone within its grace."""

import socket
import time
from collections import Counter

import httpx
import pytest
import trio
from trio_websocket import ConnectionClosed

from .load import home_stream
from .server import Person, Server

GRACE = 2.5
SHORT_GRACE = 0.3  # for a request that is not answered anyway
# Beyond the grace for requests: the end of PostgreSQL and of the interpreter, on a busy machine.
END = 10.0
CLIENTS = 8
WARM = 5
SERVICE_RESTART = 1012


@pytest.fixture
def brief_server(own_server: Server) -> Server:
    own_server.settings["TROUPE_SHUTDOWN_GRACE"] = str(GRACE)
    own_server.start()
    return own_server


async def stop(server: Server) -> float:
    """Stop it in order; how long it took."""
    asked_at = time.monotonic()
    code = await trio.to_thread.run_sync(server.stop)
    assert code == 0, server.log
    return time.monotonic() - asked_at


async def test_no_request_is_cut_under_load(brief_server: Server) -> None:
    (ada,) = brief_server.people("ada")
    outcomes: Counter[str] = Counter()
    warm = trio.Event()
    async with trio.open_nursery() as nursery:
        for number in range(CLIENTS):
            nursery.start_soon(hurry, ada, number, outcomes, warm)
        await warm.wait()
        took = await stop(brief_server)
    assert took < GRACE + END
    assert set(outcomes) <= {"200", "refused"}, outcomes
    assert outcomes["200"] > CLIENTS * WARM


async def hurry(person: Person, number: int, outcomes: Counter[str], warm: trio.Event) -> None:
    """Send one request after the other, on new connections or on a kept one, until the server listens no more."""
    kept = number % 2 == 0
    async with person.http() as http:
        for count in range(1_000_000):
            headers = {} if kept else {"Connection": "close"}
            try:
                answer = await http.post("/api/v1/statuses", data={"status": f"{number}.{count}"}, headers=headers)
            except httpx.ConnectError:
                outcomes["refused"] += 1
                return
            except httpx.TransportError as error:
                outcomes[repr(error)] += 1
                return
            outcomes[str(answer.status_code)] += 1
            if outcomes["200"] > CLIENTS * WARM:
                warm.set()


async def test_open_streams_are_ended(brief_server: Server) -> None:
    (ada,) = brief_server.people("ada")
    async with home_stream(ada) as socket, ada.http() as http, http.stream("GET", "/api/v1/streaming/user") as events:
        lines = events.aiter_lines()
        assert await anext(lines) == ":)"
        took = await stop(brief_server)
        with pytest.raises(ConnectionClosed) as closed:
            await socket.get_message()
        assert closed.value.reason is not None
        assert closed.value.reason.code == SERVICE_RESTART
        assert [line async for line in lines if line] == []
    assert took < END


async def test_a_client_that_does_not_read_holds_up_nothing(own_server: Server) -> None:
    own_server.settings["TROUPE_SHUTDOWN_GRACE"] = str(SHORT_GRACE)
    own_server.start()
    (ada,) = own_server.people("ada")
    for _ in range(10):
        ada.app.status_post("Long " * 99)
    deaf = trio.socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await deaf.connect(("127.0.0.1", own_server.port))
    async with trio.SocketStream(deaf) as stream:
        await ask_until_stuck(stream)
        assert ada.app.account_verify_credentials().username == ada.name
        assert await stop(own_server) < SHORT_GRACE + END


async def ask_until_stuck(stream: trio.SocketStream) -> None:
    """Send requests until the answers fill all buffers on their way, so that the server takes no more of them."""
    padding = "x" * 8000  # of which few fit into what the server reads at once
    ask = f"GET /api/v1/timelines/public HTTP/1.1\r\nHost: localhost\r\nX-Padding: {padding}\r\n\r\n".encode()
    with trio.fail_after(30):
        while True:
            with trio.move_on_after(1) as waiting:
                await stream.send_all(ask)
            if waiting.cancelled_caught:
                return

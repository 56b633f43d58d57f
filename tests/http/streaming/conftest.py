"""The server behind a real socket, and clients that listen to it."""

import base64
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, open_websocket

from troupe.http.server import limits
from troupe.http.server.listener import bind, serve

from ... import plain_http
from ...clients import Person, Stage
from ...waiting import until

# Far more than anything takes: a frame that does not come is to be told, not waited for.
PATIENCE = 10
# Seconds that a connection which ends has for its last bytes, in place of a second: many tests wait for its end.
CLOSE = 0.2
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"


class Socket:
    """A WebSocket client."""

    def __init__(self, connection: WebSocketConnection) -> None:
        self.connection = connection
        self.id = ""  # of the last event

    async def say(self, **frame: Any) -> None:
        await self.connection.send_message(json.dumps(frame))

    async def hear(self) -> Any:
        """The next frame, its payload read as well, and without its id."""
        with trio.fail_after(PATIENCE):
            frame = json.loads(await self.connection.get_message())
        if frame.get("event") in ("update", "status.update", "notification"):
            frame["payload"] = json.loads(frame["payload"])
        self.id = frame.pop("id", self.id)
        return frame

    async def subscribe(self, stream: str, **more: str) -> None:
        """Open a stream and know that it is open: the answer to a wrong command comes after it."""
        await self.say(type="subscribe", stream=stream, **more)
        await self.settle()

    async def settle(self) -> None:
        """Everything said so far has been done."""
        await self.say(type="subscribe", stream="nonsense")
        assert (await self.hear())["error"] == "Unknown stream type"

    async def closing(self) -> int:
        """Return the code with which the server closes, after any number of frames."""
        with trio.fail_after(PATIENCE), pytest.raises(ConnectionClosed) as closed:
            await self._drain()
        assert closed.value.reason is not None
        return closed.value.reason.code

    async def _drain(self) -> None:
        while True:
            await self.connection.get_message()


class Events:
    """A client of server-sent events."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.id = ""  # of the last event
        self._lines = response.aiter_lines()

    async def hear(self) -> tuple[str, str]:
        """The next event's name and data; heartbeats are passed over."""
        with trio.fail_after(PATIENCE):
            name = await self._next_line("event: ")
            return name, await self._next_line("data: ")

    async def line(self) -> str:
        """The next line, which may be empty."""
        with trio.fail_after(PATIENCE):
            return await anext(self._lines)

    async def comment(self) -> str:
        with trio.fail_after(PATIENCE):
            return await self._next_line(":")

    async def block(self) -> list[str]:
        """The lines of the next block."""
        lines: list[str] = []
        with trio.fail_after(PATIENCE):
            async for line in self._lines:
                self.id = line.removeprefix("id: ") if line.startswith("id: ") else self.id
                if line:
                    lines.append(line)
                elif lines:
                    break
        return lines

    async def next_id(self) -> str:
        with trio.fail_after(PATIENCE):
            await self._next_line("id: ")
        return self.id

    async def ends(self) -> None:
        """Read to the end of the stream."""
        with trio.fail_after(PATIENCE):
            async for _ in self._lines:
                pass

    async def _next_line(self, start: str) -> str:
        async for line in self._lines:
            if line.startswith("id: "):
                self.id = line.removeprefix("id: ")
            if line.startswith(start):
                return line.removeprefix(start)
        raise AssertionError("the stream has ended")


class Edge:
    """Where the server listens."""

    def __init__(self, stage: Stage, port: int) -> None:
        self.stage = stage
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    @asynccontextmanager
    async def socket(
        self,
        query: str = "",
        token: str | None = None,
        protocol: str | None = None,
        path: str = "/api/v1/streaming",
    ) -> AsyncGenerator[Socket]:
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        async with open_websocket(
            "127.0.0.1", self.port, f"{path}{query}", use_ssl=False,
            subprotocols=[protocol] if protocol else None, extra_headers=headers, disconnect_timeout=PATIENCE,
        ) as connection:  # fmt: skip
            yield Socket(connection)

    @asynccontextmanager
    async def events(self, path: str, token: str | None = None, since: str = "") -> AsyncGenerator[Events]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Last-Event-ID": since} if since else {}
        async with (
            plain_http.async_client(base_url=self.url, timeout=PATIENCE) as client,
            client.stream("GET", f"/api/v1/streaming/{path}", headers=headers) as response,
        ):
            assert response.status_code == 200, await response.aread()
            yield Events(response)

    def subscribers(self) -> int:
        """How many subscribers all feeds have."""
        runtime = self.stage.http_context.runtime
        return sum(len(cell.feed) for kind in runtime.pools for cell in runtime.awake(kind))

    async def quiet(self) -> None:
        """Wait until nothing of any stream is left."""
        await until(lambda: len(self.stage.http_context.streams) == 0 and self.subscribers() == 0, PATIENCE)


async def open_deaf(edge: Edge, target: str, *, small: bool = False) -> trio.SocketStream:
    """A stream whose client opens it and then does nothing: a WebSocket at the root, else server-sent events."""
    upgrade = target.startswith("/api/v1/streaming?")
    raw = trio.socket.socket()
    if small:
        raw.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4096)
    await raw.connect(("127.0.0.1", edge.port))
    stream = trio.SocketStream(raw)
    key = base64.b64encode(bytes(16)).decode()
    await stream.send_all(
        (
            f"GET {target} HTTP/1.1\r\nHost: localhost\r\n"
            + (f"{UPGRADE}Sec-WebSocket-Key: {key}\r\n\r\n" if upgrade else "\r\n")
        ).encode()
    )
    with trio.fail_after(PATIENCE):
        head = await stream.receive_some(1024)
    assert head.startswith(b"HTTP/1.1 101" if upgrade else b"HTTP/1.1 200"), head
    return stream


async def read_to_the_end(stream: trio.abc.ReceiveStream) -> None:
    """Until the server has closed, however."""
    with trio.fail_after(PATIENCE):
        try:
            while await stream.receive_some():
                pass
        except trio.BrokenResourceError:
            pass


@pytest.fixture
async def edge(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Edge]:
    monkeypatch.setattr(limits, "CLOSE", CLOSE)
    (listener,) = bind([("127.0.0.1", 0)])
    # Small, so that a client that does not read is noticed after a few statuses.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    stopping = trio.Event()
    async with trio.open_nursery() as beside, trio.open_nursery() as nursery:
        beside.start_soon(stage.http_context.pump.run)
        await nursery.start(serve, stage.app, [listener], stopping, 5.0)
        yield Edge(stage, listener.getsockname()[1])
        stage.http_context.streams.close_all()
        stopping.set()
        beside.cancel_scope.cancel()


@pytest.fixture
async def follower(ada: Person, bob: Person) -> Person:
    """Bob, who follows Ada."""
    reply = await bob.post(f"/api/v1/accounts/{ada.id}/follow")
    assert reply.status == 200, reply.text
    return bob

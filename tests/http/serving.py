"""The server behind a real socket, for tests that speak to it byte by byte."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h2.config
import h2.connection
import h2.settings
import trio

from troupe.http.app import FastPath
from troupe.http.server.listener import Encryption, bind, serve
from troupe.http.server.plain import FastRequests

from ..certificates import certificate
from ..clients import Stage
from ..waiting import until

PATIENCE = 10
GRACE = 1.0


class Serving:
    """A running server: its port, and what stops it."""

    def __init__(self, port: int, cancel: Callable[[], None]) -> None:
        self.port = port
        self.cancel = cancel  # without grace
        self.stopping = trio.Event()
        self.stopped = trio.Event()

    async def connect(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", self.port)

    async def stop(self) -> float:
        """Stop it; how many seconds it took."""
        began = trio.current_time()
        self.stopping.set()
        with trio.fail_after(PATIENCE):
            await self.stopped.wait()
        return trio.current_time() - began


@asynccontextmanager
async def serving(stage: Stage, grace: float = GRACE, **how: Any) -> AsyncGenerator[Serving]:
    """Serve until the block ends."""
    assert stage.both_ways, "what connections do is seen with and without the fast path: use the fixture both_ways"
    how.setdefault("fast", FastRequests(FastPath(stage.http_context).answer) if stage.fast_path else None)
    listeners = bind([("127.0.0.1", 0)])
    running = trio.CancelScope()
    server = Serving(listeners[0].getsockname()[1], running.cancel)

    async def run(task_status: trio.TaskStatus[None]) -> None:
        with running:
            await serve(stage.app, listeners, server.stopping, grace, task_status=task_status, **how)
        server.stopped.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        yield server
        server.stopping.set()


async def say(port: int, text: bytes) -> bytes:
    """Everything the server answers until it closes the connection."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    async with stream:
        try:
            await stream.send_all(text)
            return await rest(stream)
        except trio.BrokenResourceError:
            return b""


async def rest(stream: trio.abc.ReceiveStream) -> bytes:
    """What comes until the server closes the connection, which it has to."""
    with trio.fail_after(PATIENCE):
        return b"".join([bytes(chunk) async for chunk in stream])


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    return b"\r\n".join([line + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *headers, b"", body])


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


async def until_descriptors(count: int) -> None:
    """Wait until no more than so many descriptors are open."""
    await until(lambda: descriptors() <= count, PATIENCE)


@cache
def tls_server() -> Encryption:
    """What a server for localhost needs that also speaks HTTP/2."""
    with TemporaryDirectory() as folder:
        context = certificate(Path(folder), hosts=["localhost"], addresses=["127.0.0.1"]).server
    context.set_alpn_protocols(["h2", "http/1.1"])
    return Encryption(lambda: context)


async def connect_by_tls(server: Serving, *protocols: str) -> trio.SSLStream[trio.SocketStream]:
    """A connection that speaks one of the protocols, by their names in ALPN."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(list(protocols))
    stream = trio.SSLStream(await server.connect(), context, server_hostname="localhost")
    await stream.do_handshake()
    return stream


def http2_client(**settings: int) -> h2.connection.H2Connection:
    """The state of a client's connection, with settings by their names in RFC 9113; send its `data_to_send()`."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.local_settings = h2.settings.Settings(
        client=True, initial_values={h2.settings.SettingCodes[name.upper()]: value for name, value in settings.items()}
    )
    client.initiate_connection()
    return client


def ask(client: h2.connection.H2Connection, path: str = "/api/v1/instance") -> int:
    """Ask for a page; the stream's number."""
    number = client.get_next_available_stream_id()
    headers = {":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": path}
    client.send_headers(number, list(headers.items()), end_stream=True)
    return number

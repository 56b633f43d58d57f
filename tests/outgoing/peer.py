"""Another server on loopback, over TLS: answers as it is told, byte by byte, and keeps what it was asked."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import trio

from ..waiting import PATIENCE

Respond = Callable[[trio.abc.Stream, "Asked"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Peer:
    """What it was asked, and how it answers: each connection is given to `respond`, request by request."""

    respond: Respond
    port: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])
    connections: int = 0
    at_once: int = 0  # connections
    most_at_once: int = 0
    _news: trio.Event = field(default_factory=trio.Event)

    def url(self, path: str = "/", host: str = "peer.test") -> str:
        return f"https://{host}:{self.port}{path}"

    async def serve(self, tls: ssl.SSLContext | None, connection: trio.SocketStream) -> None:
        self.connections += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        stream: trio.abc.Stream = connection
        if tls is not None:
            stream = trio.SSLStream(connection, tls, server_side=True, https_compatible=True)
        try:
            async with stream:
                await self._talk(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the client went away
        finally:
            self.at_once -= 1

    async def _talk(self, stream: trio.abc.Stream) -> None:
        buffer = b""
        while True:
            while b"\r\n\r\n" not in buffer:
                if not (more := await stream.receive_some()):
                    return
                buffer += more
            head, _, buffer = buffer.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            while len(buffer) < int(headers.get("content-length", 0)):
                buffer += await stream.receive_some()
            length = int(headers.get("content-length", 0))
            method, path, _ = first.split(" ")
            asked = Asked(method, path, headers, buffer[:length])
            buffer = buffer[length:]
            self.asked.append(asked)
            self._news.set()
            self._news = trio.Event()
            await self.respond(stream, asked)

    async def was_asked(self) -> None:
        """Wait for the next request."""
        await self._news.wait()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for requests until this holds."""
        with trio.fail_after(PATIENCE):
            while not holds():
                await self.was_asked()


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """Return the bytes of an answer. Underscores in names of headers become hyphens."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = [f"HTTP/1.1 {status} Told", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def always(data: bytes) -> Respond:
    async def respond(stream: trio.abc.Stream, asked: Asked) -> None:
        await stream.send_all(data)

    return respond


@asynccontextmanager
async def peer(respond: Respond, tls: ssl.SSLContext | None) -> AsyncGenerator[Peer]:
    async with trio.open_nursery() as nursery:
        served = Peer(respond)
        listeners = await nursery.start(
            partial(trio.serve_tcp, partial(served.serve, tls), 0, host="127.0.0.1", handler_nursery=nursery)
        )
        served.port = listeners[0].socket.getsockname()[1]
        yield served
        nursery.cancel_scope.cancel()


class Answering(Protocol):
    """What answers the requests of a peer."""

    async def respond(self, stream: trio.abc.Stream, asked: Asked) -> None: ...


A = TypeVar("A", bound=Answering)


@asynccontextmanager
async def answered_by(make: Callable[[Peer], A]) -> AsyncGenerator[A]:
    """Run a peer in plain HTTP, whose requests the made object answers."""

    async def nothing(stream: trio.abc.Stream, asked: Asked) -> None: ...

    async with peer(nothing, None) as served:
        made = make(served)
        served.respond = made.respond
        yield made

"""People at work while a server comes and goes: they post until they are told that it stands, and read along."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import httpx
import trio
from trio_websocket import ConnectionClosed, HandshakeError, WebSocketConnection, open_websocket_url

from .server import Person, Server

PAGE = 40
# How far back a client looks that comes back. Two authors' statuses may be committed in another order than their ids
# have, so the last one that it saw need not be the last one that it knows all before.
OVERLAP = 20
# How long a client leaves a server alone that has just refused it: a pace, nothing is awaited by it.
PAUSE = 0.02


class Site:
    """A server that is taken down and brought back, and what its people know of that."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._up = trio.Event()
        self._news = trio.Event()
        self._connecting: set[trio.CancelScope] = set()

    async def start(self) -> None:
        await trio.to_thread.run_sync(self.server.start)
        self._up.set()

    async def kill(self) -> None:
        """End the process at any moment of its work."""
        self._up = trio.Event()
        await trio.to_thread.run_sync(self.server.kill)
        for attempt in list(self._connecting):
            attempt.cancel()

    @contextmanager
    def connecting(self) -> Generator[Callable[[], None]]:
        """A client's try to connect, which a kill ends. It yields what the client calls once it is connected.

        The library of the clients does not see that a server was killed amid the handshake, and would wait for long.
        """
        with trio.CancelScope() as attempt:
            self._connecting.add(attempt)
            try:
                yield partial(self._connecting.discard, attempt)
            finally:
                self._connecting.discard(attempt)

    async def reachable(self) -> None:
        """Wait until the server listens, as far as is known."""
        await trio.sleep(PAUSE)
        await self._up.wait()

    def tell(self) -> None:
        """Wake the writers: the state has changed."""
        self._news.set()
        self._news = trio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Check again after every change."""
        while not condition():
            await self._news.wait()


class Ledger:
    """What was acknowledged, by id; all writers keep one together."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.acknowledged: dict[str, str] = {}
        self.closed = False

    def note(self, id: str, text: str) -> None:
        assert id not in self.acknowledged, f"two statuses got the id {id}"
        self.acknowledged[id] = text
        self.site.tell()

    async def more(self, count: int) -> None:
        """When so many more statuses were acknowledged."""
        goal = len(self.acknowledged) + count
        await self.site.until(lambda: len(self.acknowledged) >= goal)


class Writer:
    """Posts one status after the other, each with a key of its own, and each until it is acknowledged."""

    def __init__(self, site: Site, person: Person, number: int) -> None:
        self.site = site
        self.person = person
        self.number = number
        self.refused = 0
        self.wrong: list[str] = []

    async def work(self, ledger: Ledger) -> None:
        """Until the ledger is closed."""
        async with self.person.http() as http:
            for count in itertools.count():
                text = f"{self.person.name} writes {self.number}.{count}"
                ledger.note(await self._publish(http, text), text)
                if ledger.closed:
                    return

    async def _publish(self, http: httpx.AsyncClient, text: str) -> str:
        while True:
            try:
                answer = await http.post("/api/v1/statuses", data={"status": text}, headers={"Idempotency-Key": text})
                if answer.status_code == 200:
                    return answer.json()["id"]
                self._refuse(answer)
            except httpx.TransportError:
                pass
            await self.site.reachable()

    def _refuse(self, answer: httpx.Response) -> None:
        """To be told to come back later is right, anything else is not."""
        self.refused += 1
        self.site.tell()
        if answer.status_code != 503 or "retry-after" not in answer.headers:
            self.wrong.append(f"{answer.status_code} {answer.headers} {answer.text}")


class Reader:
    """Keeps a stream of the home timeline open; after each interruption it pages to what it missed."""

    def __init__(self, site: Site, person: Person) -> None:
        self.site = site
        self.person = person
        self.known: list[str] = []
        self.connections = 0
        self.repeated: list[str] = []

    async def work(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled."""
        async with self.person.http() as http:
            while True:
                with (
                    suppress(ConnectionClosed, HandshakeError, OSError, httpx.TransportError),
                    self.site.connecting() as connected,
                ):
                    async with home_stream(self.person) as stream:
                        connected()
                        await self.catch_up(http)
                        self.connections += 1
                        task_status.started()
                        task_status = trio.TASK_STATUS_IGNORED
                        await self._listen(stream)
                await self.site.reachable()

    async def catch_up(self, http: httpx.AsyncClient) -> None:
        """Page forward from what it knew for sure."""
        newest = min(self.known[-OVERLAP:], key=int, default="0")
        while page := (await _page(http, {"min_id": newest, "limit": PAGE})):
            newest = page[0]["id"]
            for status in reversed(page):
                self._learn(status["id"])

    async def _listen(self, stream: WebSocketConnection) -> None:
        heard: set[str] = set()
        while True:
            event = json.loads(await stream.get_message())
            if event["event"] != "update":
                continue
            id = json.loads(event["payload"])["id"]
            self.repeated += [id] if id in heard else []
            heard.add(id)
            self._learn(id)

    def _learn(self, id: str) -> None:
        if id not in self.known:
            self.known.append(id)
            self.site.tell()


@asynccontextmanager
async def home_stream(person: Person) -> AsyncGenerator[WebSocketConnection]:
    """A WebSocket with the person's home timeline."""
    url = f"{person.url.replace('http', 'ws', 1)}/api/v1/streaming?stream=user"
    authorization = [(b"Authorization", f"Bearer {person.token}".encode())]
    async with open_websocket_url(url, extra_headers=authorization, disconnect_timeout=1) as stream:
        yield stream


async def home_of(person: Person) -> list[dict[str, Any]]:
    """The whole home timeline, newest first, by its pages."""
    entries: list[dict[str, Any]] = []
    async with person.http() as http:
        query: dict[str, str | int] = {"limit": PAGE}
        while page := await _page(http, query):
            entries += page
            query = {"limit": PAGE, "max_id": page[-1]["id"]}
    return entries


async def _page(http: httpx.AsyncClient, query: dict[str, str | int]) -> list[dict[str, Any]]:
    answer = await http.get("/api/v1/timelines/home", params=query)
    while answer.status_code == 503:
        await trio.sleep(PAUSE)
        answer = await http.get("/api/v1/timelines/home", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()

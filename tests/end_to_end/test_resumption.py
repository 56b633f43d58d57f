"""Clients whose server is killed again and again resume their streams, and are shown what was committed, once."""

import json
import random
from collections import Counter
from contextlib import suppress

import pytest
import trio
from trio_websocket import ConnectionClosed, HandshakeError, open_websocket_url

from .load import Ledger, Site, Writer
from .server import Person, Server, follow

KILLS = 5
SEED = 2027
WRITERS = 10
CLIENTS = 100
FOLLOWERS = 10  # with ten clients each
FEWEST, MOST = 1, 100
DEADLINE = 240

pytestmark = pytest.mark.timeout(DEADLINE + 30)


class Client:
    """A client that pages nowhere: it connects again and names the last event that it was shown."""

    def __init__(self, site: Site, person: Person) -> None:
        self.shown: list[str] = []
        self.connections = 0
        self.gaps = 0
        self._site = site
        self._person = person
        self._since = "now"

    async def work(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled. The client is ready when it knows where to resume from."""
        headers = [(b"Authorization", f"Bearer {self._person.token}".encode())]
        while True:
            url = f"{self._person.url.replace('http', 'ws', 1)}/api/v1/streaming?stream=user&since={self._since}"
            with suppress(ConnectionClosed, HandshakeError, OSError), self._site.connecting() as connected:
                async with open_websocket_url(url, extra_headers=headers, disconnect_timeout=1) as stream:
                    connected()
                    self.connections += 1
                    while True:
                        self._read(await stream.get_message())
                        task_status.started()
                        task_status = trio.TASK_STATUS_IGNORED
            await self._site.reachable()

    def _read(self, text: str | bytes) -> None:
        frame = json.loads(text)
        self._since = frame.get("id", self._since)
        self.gaps += frame.get("event") == "gap"
        if frame.get("event") == "update":
            self.shown.append(json.loads(frame["payload"])["id"])
            self._site.tell()


async def test_each_client_is_shown_each_status_once_over_all_its_connections(own_server: Server) -> None:
    site, chance = Site(own_server), random.Random(SEED)
    await site.start()
    names = [f"writer{number}" for number in range(WRITERS)] + [f"reader{number}" for number in range(FOLLOWERS)]
    people = await trio.to_thread.run_sync(lambda: own_server.people(*names))
    authors, readers = people[:WRITERS], people[WRITERS:]
    for reader in readers:
        await trio.to_thread.run_sync(follow, reader, authors)
    ledger = Ledger(site)
    clients = [Client(site, readers[number % FOLLOWERS]) for number in range(CLIENTS)]
    writers = [Writer(site, author, 0) for author in authors]
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as listening:
            for client in clients:
                await listening.start(client.work)
            async with trio.open_nursery() as writing:
                for writer in writers:
                    writing.start_soon(writer.work, ledger)
                for _ in range(KILLS):
                    await ledger.more(chance.randint(FEWEST, MOST))
                    await site.kill()
                    await site.start()
                await ledger.more(MOST)
                ledger.closed = True
            written = set(ledger.acknowledged)
            await site.until(lambda: all(written <= set(client.shown) for client in clients))
            listening.cancel_scope.cancel()
    for client in clients:
        assert {id: times for id, times in Counter(client.shown).items() if times > 1} == {}
        assert set(client.shown) == written
        assert client.gaps == 0
    assert min(client.connections for client in clients) > 1
    assert [writer.wrong for writer in writers if writer.wrong] == []
    assert own_server.stop() == 0

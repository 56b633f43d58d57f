"""Real servers of NATS on loopback, and the transports of nodes that are connected to them."""

from __future__ import annotations

import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import trio

from troupe.actors.cluster.nats.transport import NatsTransport

from ..waiting import PATIENCE, until

PROGRAM = Path(sysconfig.get_path("scripts")) / "nats-server"


class Broker:
    """A nats-server on a port of its own, which it keeps when it is started again."""

    def __init__(self, folder: Path, configuration: str = "") -> None:
        self.port = free_port()
        self._file = folder / f"{self.port}.conf"
        self.configure(configuration)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://{self.place}"

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def configure(self, configuration: str) -> None:
        """Write the configuration of the next start."""
        self._file.write_text(f"listen: 127.0.0.1:{self.port}\n{configuration}\n", "utf-8")

    def start(self) -> None:
        """Start the server, and wait until it listens."""
        self._process = subprocess.Popen(
            [PROGRAM, "--config", self._file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        give_up_at = time.monotonic() + PATIENCE
        while True:
            with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.port), PATIENCE):
                return
            assert self._process.poll() is None, f"{self._file} is wrong"
            assert time.monotonic() < give_up_at
            time.sleep(0.005)

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None


@contextmanager
def running(folder: Path, configuration: str = "") -> Generator[Broker]:
    """A server with this configuration, which is killed at the end."""
    broker = Broker(folder, configuration)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


class Heard:
    """The records that a transport wrote into the log."""

    def __init__(self) -> None:
        self.records: list[tuple[str, dict[str, object]]] = []

    def __call__(self, event: str, /, **facts: object) -> None:
        self.records.append((event, facts))

    def errors(self, event: str) -> list[str]:
        """The errors in the records of an event."""
        return [str(facts.get("error")) for word, facts in self.records if word == event]

    def count(self, event: str) -> int:
        return len(self.errors(event))

    @property
    def text(self) -> str:
        return str(self.records)


class Node:
    """A node on the bus: its transport, what it has received, and its log."""

    def __init__(self, url: str, name: str = "n1", cluster: str = "test") -> None:
        self.log = Heard()
        self.received: list[tuple[str, bytes]] = []
        self.transport = NatsTransport(url, name, cluster, self.log, chance=lambda: 0.5)
        self.transport.receive = lambda sender, datagram: self.received.append((sender, datagram))
        self.stopping = trio.Event()

    def send(self, node: str, datagram: bytes) -> None:
        self.transport.send(node, datagram)

    async def until_connected(self) -> None:
        await until(lambda: self.transport.is_connected)

    async def until_lost(self) -> None:
        await until(lambda: not self.transport.is_connected)

    async def until_received(self, *datagrams: tuple[str, bytes]) -> None:
        """Wait for these datagrams, and no others."""
        await until(lambda: len(self.received) >= len(datagrams))
        assert self.received == [*datagrams]
        self.received.clear()


@asynccontextmanager
async def nodes(*all_nodes: Node, connected: bool = True) -> AsyncGenerator[trio.Nursery]:
    """Run the transports of nodes."""
    async with trio.open_nursery() as nursery:
        for node in all_nodes:
            await nursery.start(node.transport.run, node.stopping)
        if connected:
            for node in all_nodes:
                await node.until_connected()
        yield nursery
        nursery.cancel_scope.cancel()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]

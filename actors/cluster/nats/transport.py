"""The transport of datagrams over NATS (`Transport` in `../cluster.py`): connected, and again after each loss.

A datagram that can't be sent is dropped: while no server is connected, if too much waits to be written, or if it is
too large. The layer above notices what is missing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote, unquote

import trio

from ...kernel import Record
from .connection import BrokerConnection
from .handshake import ConnectionLost, greet
from .parts import LARGEST_DATAGRAM, PATIENCE, PartAssembly, split
from .protocol import Connect, Info, NatsMessage, Oversized, publication, publish, publish_with_headers
from .servers import BrokerServer, BrokerServers, parse

# Seconds until all servers are tried again, after none was to be had. A fresh server is found within the longest.
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)
STABLE = 5.0  # seconds after which a connection that is lost is no failed attempt
OVERLAP = 1.0  # seconds for which the old connection is still read, after another has replaced it
REPORT_EVERY = 60.0  # seconds between two records about the same
MOST_EXPLAINED = 8  # different errors in the log
MOST_SENDERS = 128  # subjects of replies whose nodes are kept; there are at most 63 nodes
LONGEST_ERROR = 300  # characters


class NatsTransport:
    """Carries datagrams between the nodes of a cluster. `receive` takes those that arrive, with the sender's name.

    `cluster` separates the servers that share a broker. Raises BadBusUrl if `urls` can't be read.
    """

    receive: Callable[[str, bytes], None]

    def __init__(
        self, urls: str, node: str, cluster: str, record: Record, *, chance: Callable[[], float] = random.random
    ) -> None:
        self._servers = BrokerServers(parse(urls), chance)
        self._prefix = f"troupe.{_token(cluster)}.".encode()
        self._subject = self._subject_of(node)
        self._record = record
        self._chance = chance
        self._options = Connect(
            verbose=False, pedantic=False, echo=False, protocol=1, headers=True, lang="python", version="1",
            name=f"troupe {node}",
        )  # fmt: skip
        self._connection: BrokerConnection | None = None
        self._nursery: trio.Nursery
        self._beginnings: dict[str, bytes] = {}  # of PUB, by node
        self._sender_of = lru_cache(MOST_SENDERS)(self._read_sender)
        self._assembly = PartAssembly()
        self._split = int(chance() * 2**32)  # the number of the last datagram that was split
        self._dropped = Counter[str]()  # by reason: datagrams that are not reported yet
        self._has_dropped = trio.Event()
        self._losses: set[str] = set()  # the reasons that the log has, since a server was found
        self._explained: set[str] = set()  # the errors that the log has

    @property
    def is_connected(self) -> bool:
        """True if a server takes and brings datagrams."""
        return self._connection is not None

    # Datagrams --------------------------------------------------------------------------------------------------------

    def send(self, node: str, datagram: bytes) -> None:
        """Send a datagram without waiting. It may be lost."""
        connection = self._connection
        if connection is None:
            return
        if not connection.has_room:
            self._drop("of this node: too many wait to be sent to the broker")
        elif len(datagram) <= connection.info.max_payload:
            if (beginning := self._beginnings.get(node)) is None:
                beginning = self._beginnings[node] = publication(self._subject_of(node), self._subject)
            connection.write(publish(beginning, datagram))
        elif len(datagram) > LARGEST_DATAGRAM:
            self._drop(f"of this node: larger than {LARGEST_DATAGRAM} bytes")
        elif not connection.info.headers:
            self._drop("of this node: larger than max_payload of the broker, which allows no headers: raise it")
        else:
            self._send_parts(connection, node, datagram)

    def _send_parts(self, connection: BrokerConnection, node: str, datagram: bytes) -> None:
        self._split += 1
        for headers, part in split(datagram, self._split, connection.info.max_payload):
            connection.write(publish_with_headers(self._subject_of(node), self._subject, headers, part))

    def take(self, message: NatsMessage) -> None:
        """Hand on a message of another node, when it is whole."""
        sender = self._sender_of(message.reply)
        if sender is None:
            return
        datagram: bytes | None = message.payload
        if message.headers:
            datagram = self._assembly.add(sender, message.headers, message.payload, trio.current_time())
        if datagram is not None:
            self.receive(sender, datagram)

    def skip(self, message: Oversized) -> None:
        """Count a message that no node sends, because it is too large."""
        self._drop("of an unknown program: larger than nodes send them")

    def _drop(self, reason: str) -> None:
        self._dropped[reason] += 1
        self._has_dropped.set()

    def _subject_of(self, node: str) -> bytes:
        return self._prefix + _token(node).encode()

    def _read_sender(self, reply: bytes) -> str | None:
        """Return the node with this subject. None if it is this one, or none of this cluster."""
        if not reply.startswith(self._prefix) or reply == self._subject:
            return None
        return unquote(reply[len(self._prefix) :])

    # The connection ---------------------------------------------------------------------------------------------------

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Stay connected until `stopping`. It has started before it is connected: no part of a server waits for it."""
        try:
            async with trio.open_nursery() as self._nursery:
                for work in (self._stay_connected, self._report_drops, self._forget_parts):
                    self._nursery.start_soon(work)
                task_status.started()
                await stopping.wait()
                if self._connection is not None:
                    await self._connection.end()
                self._nursery.cancel_scope.cancel()
        finally:
            self._connection = None

    async def _stay_connected(self) -> None:
        last: BrokerServer | None = None
        failures = 0
        while True:
            connection = await self._connect(last, failures)
            used_since, last = trio.current_time(), connection.server
            await connection.leaving.wait()
            failures = failures + 1 if trio.current_time() < used_since + STABLE else 0

    async def _connect(self, last: BrokerServer | None, failures: int) -> BrokerConnection:
        """Try all servers until one can be used. A node that has just lost a server waits a moment, at random."""
        while True:
            await trio.sleep(PAUSES[min(failures, len(PAUSES) - 1)] * self._chance())
            faults: dict[str, str] = {}
            for server in self._servers.in_turn(last):
                try:
                    return await self._nursery.start(self._serve, server)
                except ConnectionLost as error:
                    faults[str(server)] = str(error)
            failures += 1
            if self._connection is None:  # else its server is about to end, and still serves
                self._record_loss("; ".join(f"{place}: {fault}" for place, fault in sorted(faults.items())))

    async def _serve(self, server: BrokerServer, *, task_status: trio.TaskStatus[BrokerConnection]) -> None:
        """Connect to a server, and use the connection until it is lost. Raises ConnectionLost if it was never used."""
        connection = BrokerConnection(server, await greet(server), self)

        def use() -> None:
            former, self._connection = self._connection, connection
            if former is not None:
                self._nursery.start_soon(self._retire, former)
            self.learn(connection, connection.info)
            self._losses.clear()
            self._record("bus.found", address=str(server))
            task_status.started(connection)

        try:
            await connection.run(self._options, self._subject, use)
        except ConnectionLost as error:
            if self._connection is connection:
                self._connection = None
                self._record_loss(f"{server}: {error}")
            elif not connection.was_used:
                raise

    async def _retire(self, connection: BrokerConnection) -> None:
        """End a connection whose server is about to end, when all nodes have sent what they had sent to this server.

        Meanwhile some datagrams come twice.
        """
        await trio.sleep(OVERLAP)
        await connection.end()
        connection.close()

    def learn(self, connection: BrokerConnection, info: Info) -> None:
        """Take the servers that a server names."""
        self._servers.learn(info, connection.server, over_tls=connection.is_encrypted)

    # The log ----------------------------------------------------------------------------------------------------------

    def explain(self, text: str) -> None:
        """Tell the operator of a missing permission, once for each kind."""
        kind = " ".join(text.lower().split()[:4])
        if kind not in self._explained and len(self._explained) < MOST_EXPLAINED:
            self._explained.add(kind)
            subjects = self._prefix.decode() + ">"
            self._record(
                "bus.refused", error=text[:LONGEST_ERROR],
                decision=f"allow the user of bus_url to publish and to subscribe to {subjects}",
            )  # fmt: skip

    def _record_loss(self, error: str) -> None:
        """Write each reason once, until a server is found."""
        if error not in self._losses and len(self._losses) < MOST_EXPLAINED:
            self._losses.add(error)
            self._record("bus.lost", error=error[:LONGEST_ERROR], decision="try all servers of bus_url again and again")

    async def _report_drops(self) -> None:
        while True:
            await self._has_dropped.wait()
            reasons = "; ".join(f"{count} messages {reason}" for reason, count in self._dropped.most_common())
            self._has_dropped, self._dropped = trio.Event(), Counter[str]()
            self._record("bus.dropped", error=reasons[:LONGEST_ERROR], decision="the nodes read again what is missing")
            await trio.sleep(REPORT_EVERY)

    async def _forget_parts(self) -> None:
        while True:
            await trio.sleep(PATIENCE)
            self._assembly.forget(trio.current_time())


def _token(name: str) -> str:
    """Return a name as a part of a subject, in which dots separate, and * and > stand for any part."""
    return quote(name, safe="").replace(".", "%2E")

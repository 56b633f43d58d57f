"""Several servers: one after the other, clusters that name their servers, and servers that are about to end."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import trio

from troupe.actors.cluster.nats.connection import FLUSH
from troupe.actors.cluster.nats.transport import OVERLAP

from ..waiting import until
from .broker import Broker, Node, free_port, nodes, running


@contextmanager
def cluster(folder: Path, size: int = 2, more: str = "") -> Generator[list[Broker]]:
    """A cluster of servers, which know each other."""
    ports = [free_port() for _ in range(size)]
    routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in ports)
    brokers = [
        Broker(folder, f"cluster {{ name: test\nlisten: 127.0.0.1:{port}\nroutes: [{routes}] }}\n{more}")
        for port in ports
    ]
    try:
        for broker in brokers:
            broker.start()
        yield brokers
    finally:
        for broker in brokers:
            broker.kill()


async def test_the_next_server_is_used_when_one_is_killed(tmp_path: Path) -> None:
    with running(tmp_path) as first, running(tmp_path) as second:
        url = f"{first.url},{second.place}"
        node = Node(url)
        async with nodes(node):
            first.kill()
            await until(lambda: node.log.records[-1] == ("bus.found", {"address": second.place}))
            second.kill()
            await node.until_lost()
            first.start()
            await until(lambda: node.log.records[-1] == ("bus.found", {"address": first.place}))


async def test_a_frozen_server_keeps_nobody_from_the_next_one(tmp_path: Path) -> None:
    with running(tmp_path) as first, running(tmp_path) as second:
        first.freeze()
        node = Node(f"{first.url},{second.place}")
        async with nodes(node):
            assert node.log.records[-1] == ("bus.found", {"address": second.place})


async def test_servers_that_are_only_named_by_others_are_used(tmp_path: Path) -> None:
    with cluster(tmp_path) as (first, second):
        one, two = Node(first.url, "n1"), Node(second.url, "n2")
        async with nodes(one, two):
            await until_heard(one, two)
            first.kill()
            await until(lambda: one.log.records[-1] == ("bus.found", {"address": second.place}))
            two.received.clear()
            one.send("n2", b"over the other server")
            await two.until_received(("n1", b"over the other server"))


async def until_heard(sender: Node, receiver: Node) -> None:
    """Wait until the servers of both know each other."""
    while not receiver.received:
        sender.send("n2", b"are you there?")
        await trio.sleep(0.01)


async def test_a_server_that_is_about_to_end_is_left_without_a_loss(tmp_path: Path) -> None:
    lame = "lame_duck_duration: '30s'\nlame_duck_grace_period: '5s'"
    with cluster(tmp_path, more=lame) as (first, second):
        one, two = Node(first.url, "n1"), Node(second.url, "n2")
        async with nodes(one, two):
            await until_heard(one, two)
            first.signal(signal.SIGUSR2)
            number = 0
            while one.log.records[-1] != ("bus.found", {"address": second.place}):
                two.send("n1", b"%d" % (number := number + 1))
                await trio.sleep(0.001)
            over_at = trio.current_time() + OVERLAP + FLUSH / 2
            while trio.current_time() < over_at:
                two.send("n1", b"%d" % (number := number + 1))
                await trio.sleep(0.001)
            await until(lambda: one.received[-1] == ("n2", b"%d" % number))
            assert {datagram for _, datagram in one.received} == {b"%d" % each for each in range(1, number + 1)}
            assert one.log.count("bus.lost") == 0


async def test_a_single_server_that_is_about_to_end_is_used_to_its_end(tmp_path: Path) -> None:
    lame = "lame_duck_duration: '30s'\nlame_duck_grace_period: '10s'"
    with running(tmp_path, lame) as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            broker.signal(signal.SIGUSR2)
            await trio.sleep(0.3)
            first.send("n2", b"still served")
            await second.until_received(("n1", b"still served"))
            broker.kill()
            await first.until_lost()
            broker.start()
            await first.until_connected()

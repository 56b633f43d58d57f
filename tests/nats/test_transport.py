"""The transport over real servers of NATS: found, lost, frozen, full, and shared."""

from __future__ import annotations

from pathlib import Path

import trio

from ..waiting import until
from .broker import Broker, Node, nodes, running


async def test_datagrams_go_both_ways_with_the_name_of_their_sender(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "web-2.example")
        async with nodes(first, second):
            first.send("web-2.example", b"question")
            await second.until_received(("n1", b"question"))
            second.send("n1", b"")
            await first.until_received(("web-2.example", b""))
            assert first.log.records == [("bus.found", {"address": broker.place})]


async def test_a_node_does_not_hear_itself(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            first.send("n1", b"to itself")
            first.send("n2", b"to another")
            second.send("n1", b"from another")
            await second.until_received(("n1", b"to another"))
            await first.until_received(("n2", b"from another"))


async def test_two_clusters_share_a_server(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        here, there = Node(broker.url, "n1", "here"), Node(broker.url, "n1", "here.n1")
        other, sender = Node(broker.url, "n1", "*"), Node(broker.url, "n2", "here")
        async with nodes(here, there, other, sender):
            sender.send("n1", b"to here")
            await here.until_received(("n2", b"to here"))
            assert (there.received, other.received) == ([], [])


async def test_a_server_that_is_killed_is_found_again_when_it_is_back(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            broker.kill()
            await first.until_lost()
            await second.until_lost()
            first.send("n2", b"dropped")
            broker.start()
            await first.until_connected()
            await second.until_connected()
            first.send("n2", b"arrives")
            await second.until_received(("n1", b"arrives"))
            assert first.log.records[0] == first.log.records[-1] == ("bus.found", {"address": broker.place})
            assert f"{broker.place}: it has closed the connection" in first.log.errors("bus.lost")


async def test_a_node_starts_without_a_server(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    node = Node(broker.url)
    async with nodes(node, connected=False):
        await until(lambda: bool(node.log.records))
        assert not node.transport.is_connected
        assert node.log.errors("bus.lost") == [f"{broker.place}: it does not run, or does not listen there"]
        try:
            broker.start()
            await node.until_connected()
        finally:
            broker.kill()


async def test_a_frozen_server_is_lost_within_two_seconds(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        node = Node(broker.url)
        async with nodes(node):
            broker.freeze()
            with trio.fail_after(2):
                await node.until_lost()
            broker.thaw()
            await node.until_connected()
            assert node.log.errors("bus.lost")[0] == f"{broker.place}: it has not answered for 1.25 s"

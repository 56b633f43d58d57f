"""The transport over real servers of NATS: found, lost, frozen, full, and shared."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import trio

from troupe.actors.cluster.nats.connection import CLOSED, MOST_BUFFERED, PING_EVERY, SILENCE
from troupe.actors.cluster.nats.parts import LARGEST_DATAGRAM

from ..waiting import PATIENCE, until
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
            assert f"{broker.place}: {CLOSED}" in first.log.errors("bus.lost")


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


async def test_datagrams_larger_than_the_server_takes_arrive_whole(tmp_path: Path) -> None:
    with running(tmp_path, "max_payload: 4096") as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            datagrams = [bytes(4096), bytes(4097), bytes(range(256)) * 2000, b"small"]
            for datagram in datagrams:
                first.send("n2", datagram)
            await second.until_received(*(("n1", datagram) for datagram in datagrams))


async def test_a_server_that_comes_back_with_a_smaller_limit_is_believed(tmp_path: Path) -> None:
    with running(tmp_path, "max_payload: 100000") as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            broker.kill()
            await first.until_lost()
            await second.until_lost()
            broker.configure("max_payload: 2000")
            broker.start()
            await first.until_connected()
            await second.until_connected()
            first.send("n2", bytes(50_000))
            await second.until_received(("n1", bytes(50_000)))


async def test_what_can_not_be_sent_is_dropped_and_reported(tmp_path: Path) -> None:
    with running(tmp_path, "max_payload: 4096\nno_header_support: true") as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            first.send("n2", bytes(4097))
            first.send("n2", bytes(LARGEST_DATAGRAM + 1))
            first.send("n2", b"small")
            await second.until_received(("n1", b"small"))
            assert first.log.errors("bus.dropped") == [
                "1 messages of this node: larger than max_payload of the broker, which allows no headers: raise it; "
                f"1 messages of this node: larger than {LARGEST_DATAGRAM} bytes"
            ]


async def test_the_newest_are_dropped_when_a_server_reads_too_slowly(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            sent = [b"%d" % number + bytes(500_000) for number in range(100)]
            for datagram in sent:
                first.send("n2", datagram)
            await until(lambda: first.log.count("bus.dropped") == 1)
            await until(lambda: len(second.received) >= MOST_BUFFERED // 500_000)
            assert [datagram for _, datagram in second.received] == sent[: len(second.received)]
            first.send("n2", b"later")
            await until(lambda: second.received[-1][1] == b"later")
            assert first.log.errors("bus.dropped") == [
                f"{100 - len(second.received) + 1} messages of this node: too many wait to be sent to the broker"
            ]


async def test_a_node_that_reads_too_slowly_is_cut_and_hears_of_it(tmp_path: Path) -> None:
    with running(tmp_path, "max_pending: 1MB\nwrite_deadline: '1s'") as broker:
        node = Node(broker.url)
        async with nodes(node):
            flood(broker, b"PUB troupe.test.n1 troupe.test.n2 100000\r\n" + bytes(100_000) + b"\r\n", times=300)
            await node.until_lost()
            await node.until_connected()
            assert node.log.errors("bus.lost")[0] == f"{broker.place}: {CLOSED}"
            assert "Slow Consumer" in CLOSED


def flood(broker: Broker, written: bytes, times: int) -> None:
    """Publish, while the event loop stands still and nothing is read."""
    with socket.create_connection(("127.0.0.1", broker.port), PATIENCE) as publisher:
        publisher.sendall(b'CONNECT {"verbose":false}\r\n' + written * times + b"PING\r\n")
        heard = b""
        while b"PONG" not in heard:
            heard += publisher.recv(65536)


async def test_a_missing_permission_is_explained_once_and_cuts_nothing(tmp_path: Path) -> None:
    permissions = "permissions: { publish: ['troupe.test.n2'], subscribe: ['troupe.test.n1'] }"
    users = f"authorization {{ users: [ {{ user: ada, password: s3cret, {permissions} }} ] }}"
    with running(tmp_path, users) as broker:
        url = f"nats://ada:s3cret@{broker.place}"
        first, second = Node(url, "n1"), Node(url, "n2")
        async with nodes(first, second):
            for _ in range(100):
                second.send("n1", b"refused")
                first.send("n2", b"to one who does not hear it")
            await until(lambda: second.log.count("bus.refused") == 2)
            broker.kill()
            await second.until_lost()
            broker.start()
            await second.until_connected()
            second.send("n1", b"refused")
            second.send("n3", b"refused")
            second.stopping.set()
            await until(lambda: not second.transport.is_connected)
        assert second.log.errors("bus.refused") == [
            'Permissions Violation for Subscription to "troupe.test.n2"',
            'Permissions Violation for Publish to "troupe.test.n1"',
        ]
        decisions = {facts["decision"] for event, facts in second.log.records if event == "bus.refused"}
        assert decisions == {"allow the user of bus_url to publish and to subscribe to troupe.test.>"}
        assert first.log.count("bus.refused") == 0


async def test_what_was_sent_last_still_goes_out(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            last = [b"%d" % number + bytes(10_000) for number in range(100)]
            for datagram in last:
                first.send("n2", datagram)
            first.stopping.set()
            await second.until_received(*(("n1", datagram) for datagram in last))


async def test_a_process_that_stood_still_reads_before_it_judges_the_server(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        first, second = Node(broker.url, "n1"), Node(broker.url, "n2")
        async with nodes(first, second):
            first.send("n2", b"before")
            time.sleep(SILENCE + 2 * PING_EVERY)  # noqa: ASYNC251 - the event loop stands still
            await second.until_received(("n1", b"before"))
            await trio.sleep(2 * PING_EVERY)
            assert (first.log.count("bus.lost"), second.log.count("bus.lost")) == (0, 0)


async def test_other_tasks_run_while_thousands_of_messages_are_handled(tmp_path: Path) -> None:
    with running(tmp_path) as broker:
        node = Node(broker.url)
        handled: list[int] = []  # messages between two rounds of another task

        def receive(sender: str, datagram: bytes) -> None:
            handled[-1] += 1
            time.sleep(0.001)

        node.transport.receive = receive
        async with nodes(node):
            flood(broker, b"PUB troupe.test.n1 troupe.test.n2 1\r\nx\r\n", times=2000)
            while sum(handled) < 2000:
                handled.append(0)
                await trio.lowlevel.checkpoint()
            assert node.log.count("bus.lost") == 0  # although nothing was read for longer than SILENCE
        assert 1 < max(handled) < 100  # those of a read are 1,500

"""Rate limits of several nodes: each counts, tells the others, and subtracts what they have told."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from troupe.actors.cluster import counts as counting
from troupe.actors.cluster import counts as shared_counts
from troupe.actors.cluster.counts import IN_A_DATAGRAM, MOST_AGAIN, ROUND, DailyQuotasOfNodes, SharedCounts
from troupe.actors.cluster.peers import Peer
from troupe.actors.cluster.wire import Counts
from troupe.actors.memory import daily_quotas
from troupe.http.access import rates
from troupe.http.access.cluster_rates import RatesOfNodes
from troupe.http.access.rates import FILES, PER_ACCOUNT, PER_ADDRESS, RateRule, RateStatus

START = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
TEN = RateRule("ten", 10, 60)
TWENTY_FIVE = RateRule("twenty-five", 25, 300)
Pick = Callable[["Net"], Iterator["Node"]]
POLL = 0.25  # seconds
WAY = 0.01  # seconds of a datagram


class Node:
    """A node with its clock, which may be wrong, and its counts."""

    def __init__(self, net: Net, name: str, incarnation: int, offset: float) -> None:
        self.process = f"{name}/{incarnation}"
        self.peer = Peer(name, incarnation)
        self.sent: list[Counts] = []
        self._net = net
        self._offset = timedelta(seconds=offset)
        self.counts = SharedCounts(self._send, self._peers, self.now)
        self.rates = RatesOfNodes(self.counts)
        self.quotas = DailyQuotasOfNodes(self.counts, self.now)

    def now(self) -> datetime:
        return self._net.now + self._offset

    def count(self, rule: RateRule, subject: str = "ada") -> RateStatus:
        return self.rates.count(rule, subject, self.now())

    def _peers(self) -> list[Peer]:
        return [node.peer for node in self._net.nodes if node is not self]

    def _send(self, body: Counts) -> None:
        self.sent.append(body)
        self._net.send(self, body)


class Net:
    """Nodes that poll every 250 ms. A datagram takes 10 ms, or is lost."""

    def __init__(self, *offsets: float) -> None:
        self.now = START
        self.lost = 0.0  # the part of datagrams
        self.nodes: list[Node] = []
        self._random = random.Random(7)
        self._coming: list[tuple[datetime, Node, Node, Counts]] = []
        self._polled = START
        for offset in offsets:
            self.join(offset=offset)

    def join(self, name: str = "", offset: float = 0.0) -> Node:
        node = Node(self, name or f"n{len(self.nodes) + 1}", 100 + len(self._coming) + len(self.nodes), offset)
        self.nodes.append(node)
        for other in self.nodes[:-1]:
            other.counts.hurry()
        return node

    def restart(self, node: Node) -> Node:
        """End the process of a node, and start the next."""
        self.nodes.remove(node)
        new = Node(self, node.peer.name, node.peer.incarnation + 1000, 0.0)
        self.nodes.append(new)
        for other in self.nodes[:-1]:
            other.counts.hurry()
        return new

    def send(self, sender: Node, body: Counts) -> None:
        for node in self.nodes:
            if node is not sender and self._random.random() >= self.lost:
                self._coming.append((self.now + timedelta(seconds=WAY), sender, node, body))

    def run(self, seconds: float) -> None:
        until = self.now + timedelta(seconds=seconds)
        while self.now < until:
            self.now = min(self.now + timedelta(seconds=WAY), until)
            arrived = [datagram for datagram in self._coming if datagram[0] <= self.now]
            self._coming = [datagram for datagram in self._coming if datagram[0] > self.now]
            for _, sender, node, body in arrived:
                if node in self.nodes:
                    node.counts.hear(sender.process, node.process, body)
            if self.now - self._polled >= timedelta(seconds=POLL):
                self._polled = self.now
                for node in self.nodes:
                    node.counts.poll()


def admitted(net: Net, rule: RateRule, a_second: float, pick: Iterator[Node], most: int = 20_000) -> int:
    """Let a client send requests until it was refused at every node in turn. Return how many were admitted."""
    found, refused = 0, 0
    for _ in range(most):
        if next(pick).count(rule).exceeded:
            refused += 1
        else:
            found += 1
        net.run(1 / a_second)
        if refused > 3 * len(net.nodes):
            return found
    raise AssertionError("it was never refused")


def in_turns(net: Net) -> Iterator[Node]:
    while True:
        yield from net.nodes


def at_random(net: Net) -> Iterator[Node]:
    chance = random.Random(1)
    while True:
        yield chance.choice(net.nodes)


def one_after_the_other(net: Net) -> Iterator[Node]:
    """Use up a third of the limit of an address at each node, and then all at once."""
    for node in net.nodes:
        yield from [node] * 100
    yield from in_turns(net)


def rules_in_memory(net: Net) -> list[Any]:
    return [node.counts.__dict__["_rules"] for node in net.nodes]


@pytest.mark.parametrize("pick", [in_turns, at_random, one_after_the_other])
@pytest.mark.parametrize("rule", [TEN, TWENTY_FIVE, PER_ADDRESS, PER_ACCOUNT], ids=lambda rule: rule.name)
@pytest.mark.parametrize("a_second", [20, 100])
def test_three_nodes_admit_a_tenth_more_than_the_limit_at_most(rule: RateRule, pick: Pick, a_second: float) -> None:
    net = Net(0, 0, 0)
    assert rule.limit <= admitted(net, rule, a_second, pick(net)) <= rule.limit * 1.1


@pytest.mark.parametrize("rule", [TWENTY_FIVE, PER_ADDRESS, FILES], ids=lambda rule: rule.name)
def test_a_client_of_one_node_has_the_whole_limit(rule: RateRule) -> None:
    net = Net(0, 0, 0)
    node = net.nodes[1]
    for number in range(rule.limit):
        assert node.count(rule).remaining == rule.limit - number - 1
        if number % 100 == 0:
            net.run(0.3)
    assert node.count(rule).exceeded


def test_a_client_that_moves_to_another_node_keeps_its_count() -> None:
    net = Net(0, 0, 0)
    for _ in range(PER_ADDRESS.limit):
        assert not net.nodes[0].count(PER_ADDRESS).exceeded
    net.run(POLL + WAY)
    assert net.nodes[1].count(PER_ADDRESS).exceeded
    assert not net.nodes[1].count(PER_ADDRESS, "bob").exceeded
    assert not net.nodes[1].count(PER_ACCOUNT).exceeded


def test_the_headers_are_right_within_a_poll() -> None:
    net = Net(0, 0, 0)
    for number in range(1, 121):
        headers = dict(net.nodes[number % 3].count(PER_ADDRESS).headers)
        net.run(0.3)
        assert abs(PER_ADDRESS.limit - number - int(headers["X-RateLimit-Remaining"])) <= PER_ADDRESS.limit // 50
        assert headers["X-RateLimit-Limit"] == "300"
        assert headers["X-RateLimit-Reset"] == "2026-11-21T12:05:00.000000Z"


def test_the_next_window_begins_with_the_whole_limit() -> None:
    net = Net(0, 0, 0)
    for _ in range(40):
        net.nodes[0].count(TWENTY_FIVE)
    net.run(299)
    assert net.nodes[2].count(TWENTY_FIVE).exceeded
    net.run(2)
    assert rules_in_memory(net) == [{}, {}, {}]
    assert net.nodes[2].count(TWENTY_FIVE).remaining == 24


def test_nodes_whose_clocks_differ_count_together_within_a_window() -> None:
    net = Net(0, 60, -60)
    net.run(61)  # it is 12:02:01, and 12:00:01 where the clock is behind
    assert 25 <= admitted(net, TWENTY_FIVE, 20, in_turns(net)) <= 27
    net.run(182)  # it has the next window where the clock is ahead
    assert not net.nodes[1].count(TWENTY_FIVE).exceeded
    assert net.nodes[0].count(TWENTY_FIVE).exceeded


def test_lost_datagrams_are_made_up_for() -> None:
    net = Net(0, 0, 0)
    net.lost = 0.5
    for _ in range(25):
        net.nodes[0].count(TWENTY_FIVE)
    net.run(POLL * ROUND)
    assert net.nodes[1].count(TWENTY_FIVE).exceeded
    assert net.nodes[2].count(TWENTY_FIVE).exceeded


def test_a_node_that_joins_hears_what_was_counted_before() -> None:
    net = Net(0, 0)
    for number in range(100):
        for _ in range(25):
            net.nodes[number % 2].count(TWENTY_FIVE, f"client {number}")
    net.run(5)
    new = net.join()
    net.run(2 * POLL + 2 * WAY)
    assert all(new.count(TWENTY_FIVE, f"client {number}").exceeded for number in range(100))


def test_what_a_dead_node_has_counted_is_still_counted() -> None:
    """Also where its next process serves, and after both others were restarted too."""
    net = Net(0, 0, 0)
    for _ in range(25):
        net.nodes[0].count(TWENTY_FIVE)
    net.run(1)
    for _ in range(3):
        new = net.restart(net.nodes[0])
        net.run(1)
        assert new.count(TWENTY_FIVE).exceeded
        assert net.nodes[0].count(TWENTY_FIVE).exceeded


def test_counts_that_come_twice_and_late_are_counted_once() -> None:
    node = Net(0, 0).nodes[0]
    ends = int(START.timestamp()) + 300
    for used in (7, 9, 7, 9, 2):
        node.counts.hear("n2/101", node.process, Counts("", {TWENTY_FIVE.name: {ends: {"ada": used}}}))
    assert node.count(TWENTY_FIVE).remaining == 25 - 9 - 1


def test_a_node_that_others_take_for_dead_does_not_count_its_own_twice() -> None:
    node = Net(0, 0).nodes[0]
    status = node.count(TWENTY_FIVE)
    echo = Counts(node.process, {TWENTY_FIVE.name: {status.reset: {"ada": 1}}})
    node.counts.hear("n2/101", node.process, echo)
    assert node.count(TWENTY_FIVE).remaining == 23


def test_windows_that_are_over_or_far_ahead_take_no_memory() -> None:
    node = Net(0, 0).nodes[0]
    start = int(START.timestamp())
    for number in range(-5, 50):
        body = Counts("", {TWENTY_FIVE.name: {start + 300 * number: {"ada": 20}}})
        node.counts.hear("n2/101", node.process, body)
    assert [node.counts.of_others(TWENTY_FIVE.name, start + 300 * number, "ada") for number in range(5)] == [
        0, 20, 20, 20, 0,
    ]  # fmt: skip


def test_a_refused_client_causes_no_datagrams() -> None:
    net = Net(0, 0, 0)
    admitted(net, PER_ADDRESS, 100, in_turns(net))
    net.run(1)
    before = Counter({node.process: len(node.sent) for node in net.nodes})
    for _ in range(5_000):
        assert all(node.count(PER_ADDRESS).exceeded for node in net.nodes)
    assert before == Counter({node.process: len(node.sent) for node in net.nodes})


def test_most_clients_cause_no_datagram_of_their_own() -> None:
    """A crowd of addresses with a request or two each is not told, and no crowd causes a datagram for each request."""
    net = Net(0, 0, 0)
    for number in range(1_000):
        net.nodes[0].count(PER_ADDRESS, f"client {number}")
    net.run(1)
    assert net.nodes[0].sent == []
    for number in range(10_000):
        for _ in range(2):
            net.nodes[0].count(PER_ADDRESS, f"client {number}")
    assert net.nodes[0].sent == []
    net.run(POLL)
    sizes = [len(told) for body in net.nodes[0].sent for ended in body.counts.values() for told in ended.values()]
    assert sum(sizes) <= 10_000 + MOST_AGAIN
    assert max(sizes) <= IN_A_DATAGRAM
    net.nodes[0].sent.clear()
    net.run(POLL)
    (again,) = net.nodes[0].sent
    assert sum(len(told) for told in again.counts[PER_ADDRESS.name].values()) <= MOST_AGAIN


def test_the_subjects_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_SUBJECTS", 100)
    net = Net(0, 0)
    for number in range(1_000):
        for _ in range(25):
            net.nodes[0].count(TWENTY_FIVE, f"client {number}")
        net.run(POLL)
        teller, hearer = (rules[TWENTY_FIVE.name] for rules in rules_in_memory(net))
        assert all(len(counts.told) <= 101 for counts in teller.values())
        assert all(len(counts.others) <= 100 for counts in hearer.values())


def test_counts_that_begin_again_refuse_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST_SUBJECTS", 3)
    net = Net(0, 0)
    for number in range(100):
        assert net.nodes[0].count(TWENTY_FIVE, f"client {number}").remaining == 24
    net.run(20)
    assert net.nodes[1].count(TWENTY_FIVE, "client 99").remaining == 23


class TestDailyQuotas:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch, autojump_clock: object) -> None:
        monkeypatch.setitem(daily_quotas.MOST_A_DAY, "reports", 300)

    async def test_a_domain_has_its_quota_once(self) -> None:
        net = Net(0, 0, 0)
        granted = 0
        for number in range(500):
            granted += net.nodes[number % 3].quotas.take("reports", f"host{number}.far.example", 2)
            net.run(0.02)
        assert 300 <= granted <= 330
        assert net.nodes[0].quotas.take("reports", "other.test") == 1
        assert net.nodes[0].quotas.take("keys", "far.example") == 1

    async def test_a_domain_that_one_node_knows_has_the_whole_quota(self) -> None:
        net = Net(0, 0, 0)
        assert sum(net.nodes[0].quotas.take("reports", "far.example", 7) for _ in range(100)) == 300

    async def test_it_survives_the_nodes_one_after_the_other(self) -> None:
        net = Net(0, 0, 0)
        assert net.nodes[0].quotas.take("reports", "far.example", 1000) == 300
        net.run(1)
        for _ in range(3):
            new = net.restart(net.nodes[0])
            net.run(1)
            assert new.quotas.take("reports", "far.example") == 0
        net.now += timedelta(days=1)
        net.run(1)
        assert net.nodes[0].quotas.take("reports", "far.example", 1000) == 300

    async def test_domains_are_counted_in_bounded_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shared_counts, "COUNTED", 3)
        node = Net(0, 0).nodes[0]
        for number in range(100):
            assert node.quotas.take("keys", f"host{number}.test") == 1
        assert len(node.quotas) == 3

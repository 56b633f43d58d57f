"""Effects of commands: each happens, whichever node dies, and once if no node dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import trio

from troupe.actors.commands import scheduled_statuses
from troupe.actors.commands.passwords import SendPasswordReset
from troupe.actors.commands.polls import Vote
from troupe.actors.commands.scheduled_statuses import ScheduleStatus
from troupe.actors.commands.statuses import PublishStatus
from troupe.actors.deliveries.sender import DeliveryReply
from troupe.actors.rules.polls import PollTerms
from troupe.storage import push_subscriptions
from troupe.storage.push_subscriptions import NewPushSubscription
from troupe.storage.scheduled_statuses import ScheduledStatus
from troupe.storage.statuses import Status
from troupe.supervision.testing import Budget, Fault, simulation
from troupe.supervision.testing.run import Eventually
from troupe.supervision.testing.stage import Person
from troupe.supervision.testing.stage.cluster import OFFSETS, Blow, SimulatedCluster, cluster

from ..foreign import Foreigner

with_queues = partial(cluster, nodes=3, mail=True, push=True, deliveries=True)

ELSEWHERE = "elsewhere.example"
LONGEST_REPLY = 3.0  # seconds of another server, which is as long as a node lives without a beat
# A node that is away from its database for five seconds is removed, and another one delivers before the scenario looks.
NOT_AWAY = Budget(2, frozenset(Fault) - {Fault.AWAY})
TOKEN = "SELECT id FROM access_tokens WHERE account_id = $1"
MENTIONS = "SELECT id FROM notifications WHERE account_id = $1 AND type = 'mention' ORDER BY id"
POLL_ENDS = "SELECT account_id FROM notifications WHERE type = 'poll' ORDER BY account_id"
SOONEST = timedelta(seconds=1)  # in the place of five minutes
APART = max(OFFSETS)  # seconds by which the clock of a node differs from that of the run
POLL = int(2 * APART) + 15  # seconds of a poll: the slowest clock may end it, and the fastest clock look at it
AHEAD = timedelta(seconds=APART + 60)  # of a scheduled status: also the fastest clock takes it for later, and late


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduled_statuses, "SOONEST", SOONEST)


def subscribe(sim: SimulatedCluster, person: Person) -> None:
    """Store a device that wants to know of mentions, before the scenario begins."""
    sim.sign_in([person])
    (token,) = sim.database.rows(TOKEN, person.id)
    device = NewPushSubscription(
        token["id"], account_id=person.id, access_token="-", endpoint="https://push.example/", service="push.example",
        p256dh=b"\x04" + bytes(64), auth=bytes(16), standard=True, alerts=("mention",), policy="all",
    )  # fmt: skip
    sim.database.arrange(push_subscriptions.replace, device, sim.run.clock.now())


async def all_done(sim: SimulatedCluster) -> None:
    """Wait until no effect waits in the queues of other services."""

    def nothing_waits() -> bool:
        return not sim.database.rows("SELECT FROM outbox WHERE queue <> 'main'")

    await Eventually(nothing_waits, "every effect is done", within=300).wait_until_true()
    await sim.calm()


def delivered(sim: SimulatedCluster, kind: str) -> list[str]:
    """Return the objects of the activities of a kind, in the order in which each first came."""
    taken: dict[str, Any] = {one.activity["id"]: one.activity for one in sim.delivered}
    return [activity["object"]["id"] for activity in taken.values() if activity["type"] == kind]


class Audience:
    """Bob has a device, and Eve reads Ada on another server. Ada mentions Bob in each of her posts."""

    def __init__(self, sim: SimulatedCluster, ada: Person, bob: Person) -> None:
        self.sim = sim
        self.ada = ada
        self.bob = bob
        self.posts: list[Status] = []
        subscribe(sim, bob)
        Foreigner(sim, "eve", ELSEWHERE).follows(sim, ada)

    async def post(self, number: int) -> None:
        for place in range(number):
            command = PublishStatus(f"@bob {place}", idempotency_key=f"key {place}")
            status = await self.ada.insist(command)
            assert isinstance(status, Status)
            self.posts.append(status)

    async def forget_password(self) -> None:
        await self.bob.insist(SendPasswordReset())

    def check(self) -> None:
        """Check that everything has arrived, and activities and pushes in the order of the posts."""
        assert delivered(self.sim, "Create") == [status.uri for status in self.posts]
        told = dict.fromkeys(pushed.message["notification_id"] for pushed in self.sim.pushed)
        assert list(told) == [row["id"] for row in self.sim.database.rows(MENTIONS, self.bob.id)]
        assert len(told) == len(self.posts)
        assert {letter.to for letter in self.sim.mails} == {"bob@troupe.test"}


@simulation(seeds=1, faults=4, world=with_queues)
async def test_mails_pushes_and_deliveries_arrive_whichever_node_dies(sim: SimulatedCluster) -> None:
    ada, bob = await sim.people("ada", "bob")
    audience = Audience(sim, ada, bob)
    async with sim.run.together() as go:
        go(audience.post, 3)
        go(audience.forget_password)
        go(sim.storm)
    await all_done(sim)
    audience.check()


@simulation(seeds=2, world=with_queues)
async def test_mails_pushes_and_deliveries_arrive_once_while_nodes_come_and_go(sim: SimulatedCluster) -> None:
    """The claims of a living node stay, although other servers are slow and other nodes end."""
    ada, bob = await sim.people("ada", "bob")
    audience = Audience(sim, ada, bob)

    async def answer(headers: Mapping[str, str]) -> DeliveryReply:
        await trio.sleep(LONGEST_REPLY * sim.run.random.random())
        return DeliveryReply(202)

    sim.answers[ELSEWHERE] = answer
    async with sim.run.together() as go:
        go(audience.post, 4)
        go(audience.forget_password)
        go(partial(sim.storm, Blow.DRAIN, Blow.JOIN, Blow.CUT))
    await all_done(sim)
    audience.check()
    assert max(Counter(taken.activity["id"] for taken in sim.delivered).values()) == 1
    assert max(Counter(pushed.message["notification_id"] for pushed in sim.pushed).values()) == 1
    assert max(Counter(letter.id for letter in sim.mails).values()) == 1


@simulation(seeds=1, faults=NOT_AWAY, world=with_queues)
async def test_the_claims_of_a_dead_node_are_free_at_once(sim: SimulatedCluster) -> None:
    ada, bob = await sim.people("ada", "bob")
    audience = Audience(sim, ada, bob)
    at_work: list[str] = []

    async def hang(headers: Mapping[str, str]) -> DeliveryReply:
        at_work.append("one")
        if len(at_work) == 1:
            await trio.sleep_forever()
        return DeliveryReply(202)

    sim.answers[ELSEWHERE] = hang
    await audience.post(1)
    await Eventually(lambda: bool(at_work), "a node delivers", within=60).wait_until_true()
    (claim,) = sim.database.rows("SELECT claimed_by FROM outbox WHERE queue = 'deliveries'")
    (row,) = sim.database.rows("SELECT name FROM nodes WHERE number = $1::bigint >> 10 & 63", claim["claimed_by"])
    (node,) = [node for node in sim.nodes if node.name == row["name"]]
    await node.kill()
    await Eventually(
        lambda: bool(sim.delivered), "the next node delivers before the claim is over", within=15
    ).wait_until_true()  # fmt: skip
    await node.start()
    await audience.forget_password()
    await all_done(sim)
    audience.check()


@simulation(seeds=1, faults=4, world=with_queues, step_limit=300_000)
async def test_reminders_and_scheduled_statuses_happen_once(sim: SimulatedCluster) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    stream = await bob.stream()
    at = sim.run.clock.now() + AHEAD
    later = PublishStatus("later", idempotency_key="later")
    assert isinstance(await ada.insist(ScheduleStatus(later, at)), ScheduledStatus)
    await bob.mute(cyd, seconds=10)
    poll = await cyd.insist(PublishStatus("?", poll=PollTerms(("a", "b"), POLL), idempotency_key="poll"))
    assert isinstance(poll, Status)
    assert poll.poll is not None
    await ada.insist(Vote(poll.id, poll.poll.id, (0,)))

    async def storms() -> None:
        """Strike when the status is due by the clock of one node or another."""
        await trio.sleep(8 + APART * sim.run.random.choice(range(3)))
        await sim.storm(Blow.RESTART, Blow.FREEZE, Blow.CUT, Blow.DRAIN, blows=5)

    due_by_all = trio.current_time() + POLL + 2 * APART
    async with sim.run.together() as go:
        go(storms)
    await trio.sleep_until(due_by_all)
    await sim.calm()
    statuses = sim.database.rows("SELECT id FROM statuses WHERE account_id = $1", ada.id)
    assert len(statuses) == 1
    assert stream.seen == [row["id"] for row in statuses] == await bob.home()
    assert not sim.database.rows("SELECT FROM scheduled_statuses")
    assert not sim.database.rows("SELECT FROM mutes")
    assert not (await bob.relation(cyd)).muting
    assert [row["account_id"] for row in sim.database.rows(POLL_ENDS)] == sorted([ada.id, cyd.id])


@simulation(seeds=1, faults=6, world=partial(cluster, nodes=3))
async def test_facts_that_a_dead_owner_has_left_are_published_by_the_next(sim: SimulatedCluster) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    stream = await bob.stream()

    async def post() -> None:
        for _ in range(6):
            status = await ada.publish()
            assert status in await bob.home()

    async with sim.run.together() as go:
        go(post)
        go(partial(sim.storm, Blow.RESTART, Blow.FREEZE))
    await sim.calm()
    assert sorted(stream.seen) == ada.published
    assert await bob.home() == ada.published[::-1]
    assert not sim.database.rows("SELECT FROM outbox")

"""What a node takes of other nodes, and what it ignores: `cluster.py`, `bundles.py` and `peers.py`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, cast

import pytest
import trio

from troupe.actors.broadcast.publications import UNKNOWN, Publications
from troupe.actors.cluster.cluster import POLL_EVERY, OtherNodes
from troupe.actors.cluster.membership import Member, Membership
from troupe.actors.cluster.peers import DRIFT, LATE, VALID, lease_time
from troupe.actors.cluster.wire import (
    Acknowledgement,
    Body,
    Bundle,
    Counts,
    Farewell,
    NodeDatagram,
    PeerPoll,
    PollAnswer,
    Sent,
    SentAnswer,
    SentCommand,
    SentError,
    Withdrawal,
    decode,
    encode,
)
from troupe.actors.kernel import NOWHERE, Actor, Address, Cell, Ids, Origin, Runtime, SystemClock
from troupe.actors.kernel.inspection import SLICE
from troupe.storage.engine.database import Database, Removed, Unavailable
from troupe.storage.engine.shards import Epochs, shard_of

from .commanding import CODEC, Work

SENT = Sent.by(NOWHERE)
HIGHEST = 1 << 60


class FakeMembership:
    """A node `one` of incarnation 5 that has joined, with the other members that a test names."""

    member = Member("one", 5, 1)
    is_leader = is_current = True

    def __init__(self) -> None:
        self.own = Epochs({})
        self.removed = 0

    def observe(self, on_change: Callable[[Collection[Member], Collection[Member]], object]) -> None:
        self.change = on_change

    def observe_shards(self, on_taken: Callable[[Collection[int]], object]) -> None:
        self.take = on_taken

    def owner_of(self, shard: int) -> str:
        return "one"

    async def join(self) -> Member:
        return self.member

    async def run(self, stopping: trio.Event) -> None:
        await stopping.wait()

    async def take_share(self) -> None:
        pass

    async def refresh(self) -> None:
        pass

    async def drain(self) -> None:
        pass

    async def leave(self) -> None:
        pass


class Memory:
    """Notes the facts that it has got, and how often it had to forget."""

    has_published_all = True

    def __init__(self) -> None:
        self.facts: list[object] = []
        self.forgotten = 0
        self.error: Exception | None = None
        self.takes = 0.0  # seconds

    async def receive(self, facts: Sequence[object], origin: Origin) -> None:
        if self.takes:  # most facts are applied without a wait
            await trio.sleep(self.takes)
        if self.error is not None:
            raise self.error
        self.facts += facts

    async def forget(self) -> None:
        await trio.sleep(self.takes)
        self.forgotten += 1


class FakeDatabase:
    """Answers how high the highest id in the rows is."""

    async def read(self, work: object) -> int:
        return HIGHEST


class World:
    """The node, and the datagrams that it sends."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.sent: list[tuple[str, NodeDatagram]] = []
        self.records: list[str] = []
        self.suspended = 0.0  # seconds for which the machine was suspended, and Trio's clock stood still
        self.memory = Memory()
        self.membership = FakeMembership()
        self.ids = Ids(SystemClock(), 1)
        self.runtime = Runtime(record=self._record, chance=lambda: 0.0)
        self.cluster = OtherNodes(
            cast("Membership", self.membership), self, cast("Database", FakeDatabase()), self.runtime, CODEC,
            self.memory, Publications(self.ids), self.ids, self._record,
            self.lease_time,
        )  # fmt: skip

    def lease_time(self) -> float:
        return trio.current_time() + self.suspended

    def send(self, node: str, datagram: bytes) -> None:
        self.sent.append((node, decode(datagram)))

    def take(self, body: Body, sender: int = 7, to: int = 5, id: int = 1) -> None:
        """Bring a datagram of the node `two`, of incarnation 7."""
        self.cluster.receive("two", encode(NodeDatagram(sender, to, id, body)))

    def take_bundle(self, number: int, *texts: str) -> None:
        self.take(Bundle(number, [CODEC.encode(Work(text)) for text in texts or (str(number),)], SENT, 0, UNKNOWN))

    def take_poll_answer(self, at: float, last: int) -> None:
        self.take(PollAnswer(at, last, admits=True, progress=UNKNOWN))

    def bodies(self, kind: type[Body]) -> list[Any]:
        return [datagram.body for _, datagram in self.sent if isinstance(datagram.body, kind)]

    @property
    def acknowledged(self) -> list[int]:
        return [body.through for body in self.bodies(Acknowledgement)]

    @property
    def texts(self) -> list[str]:
        return [fact.action for fact in self.memory.facts if isinstance(fact, Work)]

    def join(self, incarnation: int = 7) -> None:
        """Let the row of `two` be read."""
        self.change(joined=[Member("two", incarnation, 2)])

    def change(self, joined: Iterable[Member] = (), left: Iterable[Member] = ()) -> None:
        self.membership.change([*joined], [*left])

    def _record(self, event: str, /, **facts: object) -> None:
        self.records.append(event)


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    async with trio.open_nursery() as nursery:
        world = World(nursery)
        await nursery.start(world.cluster.run, trio.Event())
        yield world
        nursery.cancel_scope.cancel()


async def settle() -> None:
    await trio.sleep(0.01)


async def meet(world: World) -> None:
    """Let the node and `two` know each other, later than at the beginning of Trio's clock."""
    await trio.sleep(10)
    world.join()
    world.take_poll_answer(world.lease_time(), 0)
    world.take(PeerPoll(0.0))
    await settle()
    assert world.cluster.is_complete


# Datagrams


async def test_a_datagram_that_is_unreadable_is_logged_and_ignored(world: World) -> None:
    for data in (b"", b"\x00", b"nonsense", b"\xff" * 1_000_000, encode(NodeDatagram(7, 5, 1, PeerPoll(0.0)))[:-1]):
        world.cluster.receive("two", data)
    assert world.records.count("node.unreadable") == 5
    assert world.sent == []


@pytest.mark.parametrize(
    "body",
    [SentAnswer(77, b""), SentError(77, "Busy", ""), Withdrawal(77), Acknowledgement(-1), Acknowledgement(1 << 62)],
)
async def test_numbers_that_are_not_known_are_ignored(world: World, body: Body) -> None:
    world.take(body)
    await settle()
    assert world.sent == []
    assert world.cluster.is_complete


async def test_a_datagram_for_an_earlier_process_is_ignored(world: World) -> None:
    world.join()
    for incarnation in (4, 0, 6):
        world.take(PeerPoll(0.0), to=incarnation)
    assert world.bodies(PollAnswer) == []
    world.take(PeerPoll(0.0))
    assert len(world.bodies(PollAnswer)) == 1


async def test_a_datagram_of_a_process_without_a_row_is_ignored(world: World) -> None:
    """It may have ended before its row was read: then its end would never be noticed."""
    world.take(PeerPoll(0.0))
    await trio.sleep(1)
    assert world.sent == []
    world.join()
    world.take(PeerPoll(0.0))
    assert len(world.bodies(PollAnswer)) == 1


async def test_a_datagram_of_an_earlier_process_is_ignored(world: World) -> None:
    await meet(world)
    world.take(PeerPoll(1.0), sender=6)
    assert len(world.bodies(PollAnswer)) == 1
    world.change(left=[Member("two", 7, 2)])
    world.take(PeerPoll(1.0))
    assert len(world.bodies(PollAnswer)) == 1
    world.join(8)
    world.take(PeerPoll(1.0), sender=8)
    assert len(world.bodies(PollAnswer)) == 2


async def test_ids_are_above_each_id_that_a_datagram_has_brought(world: World) -> None:
    world.join()
    ahead = world.ids.next() + (60_000 << 16)
    world.take(PeerPoll(0.0), id=ahead)
    assert world.sent[-1][1].id > ahead
    assert world.ids.next() > ahead


async def test_after_the_end_of_a_node_ids_are_above_all_rows(world: World) -> None:
    """The last ids of the node may have been in no datagram that came here."""
    await meet(world)
    world.change(left=[Member("two", 7, 2)])
    assert not world.cluster.is_complete
    await settle()
    assert world.cluster.is_complete
    assert world.ids.next() > HIGHEST


async def test_a_new_process_of_a_node_ends_what_the_former_has_sent(world: World) -> None:
    await meet(world)
    world.take_bundle(1)
    await settle()
    world.change(left=[Member("two", 7, 2)], joined=[Member("two", 8, 2)])
    assert not world.cluster.is_complete
    await settle()
    assert world.memory.forgotten == 1
    world.take(Bundle(1, [CODEC.encode(Work("new"))], SENT, 0, UNKNOWN), sender=8)
    await settle()
    assert world.texts == ["1", "new"]


# Bundles


async def test_bundles_are_applied_once_and_in_order(world: World) -> None:
    await meet(world)
    for number in (3, 2, 2, 1, 3, 1, 4):
        world.take_bundle(number)
    await settle()
    assert world.texts == ["1", "2", "3", "4"]
    assert {*world.acknowledged} == {1, 2, 3, 4}
    world.sent.clear()
    world.take_bundle(2)
    assert world.acknowledged == [4], "a repeated bundle is acknowledged again: the first acknowledgement may be lost"
    assert world.texts == ["1", "2", "3", "4"]


async def test_bundles_that_have_waited_keep_no_other_task_from_running(world: World) -> None:
    await meet(world)
    rounds = 0

    async def go_on() -> None:
        nonlocal rounds
        while len(world.texts) < 1_000:
            rounds += 1
            await trio.lowlevel.checkpoint()

    for number in range(1_000, 0, -1):
        world.take_bundle(number)
    await go_on()
    assert rounds > 900


async def test_a_node_that_joins_late_counts_no_bundles_one_by_one(world: World) -> None:
    """The other node has sent 10**15 bundles: a list or a loop of their numbers would never end."""
    world.join()
    for _ in range(3):
        world.take_poll_answer(world.lease_time(), 10**15)
        await settle()
    assert world.acknowledged == [10**15]
    world.take_bundle(10**15 + 1)
    await settle()
    assert world.texts == [str(10**15 + 1)]


async def test_a_bundle_is_acknowledged_after_it_is_applied(world: World) -> None:
    await meet(world)
    world.memory.takes = 1
    world.take_bundle(1)
    await trio.sleep(0.5)
    assert world.acknowledged == []
    world.take_bundle(1)
    await trio.sleep(1)
    assert (world.texts, world.acknowledged) == (["1"], [1])


async def test_facts_that_are_unreadable_or_fail_are_replaced_by_the_rows(world: World) -> None:
    await meet(world)
    world.take(Bundle(1, [b"\x92\xa7Unknown\x80"], SENT, 0, UNKNOWN))
    await settle()
    assert (world.memory.forgotten, world.acknowledged) == (1, [1])
    world.memory.error = Unavailable("planned")
    world.take_bundle(2)
    await settle()
    assert (world.memory.forgotten, world.acknowledged) == (2, [1, 2])
    world.memory.error = LookupError("a bug")
    world.take_bundle(3)
    await settle()
    assert (world.memory.forgotten, world.acknowledged) == (3, [1, 2, 3])


async def test_a_lost_bundle_ends_completeness_and_then_everything_is_read_again(world: World) -> None:
    await meet(world)
    began = trio.current_time()
    world.take_bundle(2)
    while not world.memory.forgotten:
        world.take_poll_answer(world.lease_time(), 2)
        await trio.sleep(0.1)
        assert trio.current_time() < began + 2
    assert trio.current_time() - began > LATE
    assert world.texts == [], "what comes after a gap is not applied before it"
    assert world.acknowledged == [2]
    world.take_bundle(3)
    await settle()
    assert world.texts == ["3"]


async def test_a_bundle_that_is_only_late_is_applied(world: World) -> None:
    await meet(world)
    world.take_poll_answer(world.lease_time(), 1)
    await trio.sleep(LATE / 2)
    world.take_bundle(1)
    await settle()
    world.take_poll_answer(world.lease_time(), 1)
    await settle()
    assert (world.memory.forgotten, world.texts) == (0, ["1"])
    assert world.cluster.is_complete


async def test_an_answer_is_valid_from_when_the_question_was_sent(world: World) -> None:
    await meet(world)
    await trio.sleep(VALID)
    assert not world.cluster.is_complete
    world.take_poll_answer(world.lease_time() - VALID * 0.9, 0)
    assert world.cluster.is_complete
    await trio.sleep(VALID * 0.11)
    assert not world.cluster.is_complete, "the answer was on its way for most of its time"


async def test_a_machine_that_wakes_answers_nothing_from_what_it_knew_before(world: World) -> None:
    """Its leases have ended, also for answers to polls that were sent before."""
    await meet(world)
    asked = world.lease_time()
    world.suspended += 3600
    assert not world.cluster.is_complete
    world.take_poll_answer(asked, 0)
    assert not world.cluster.is_complete
    world.take_poll_answer(world.lease_time(), 0)
    assert world.cluster.is_complete


async def test_a_writer_that_wakes_waits_no_longer_for_nodes_whose_leases_have_ended(world: World) -> None:
    await meet(world)
    world.cluster.send([Work("anything")], NOWHERE)
    world.suspended += 3600
    waiting = world.cluster.send([Work("anything")], NOWHERE)
    assert waiting is not None
    began = trio.current_time()
    assert await ended(waiting) == began


def test_leases_count_the_time_of_a_suspended_machine() -> None:
    """No clock of Linux but this one does."""
    assert time.clock_gettime(time.CLOCK_BOOTTIME) <= lease_time() <= time.clock_gettime(time.CLOCK_BOOTTIME)


# Shards


async def test_the_actors_of_taken_shards_load_before_their_commands_and_the_others_in_slices(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be 100,000: the loop would stand still for half a second."""
    loads: list[Address] = []
    rounds = 0
    monkeypatch.setattr(world.runtime, "resync", loads.append)
    accounts, lists = (world.runtime.add(kind, Actor, _make_no_actor) for kind in ("account", "list"))
    for number in range(6 * SLICE):
        accounts.cell(str(number))
    lists.cell("7")
    taken = [Address("account", key) for key in accounts.cells if shard_of(key) < 128]
    world.membership.take(range(128))
    for address in (taken[-1], taken[-1], taken[-2]):
        world.cluster.load_before(address, int(address.key))
    world.cluster.load_before(Address("account", "x"), next(n for n in range(999) if shard_of(n) >= 128))
    assert loads == [taken[-1], taken[-2]]
    while len(loads) <= len(taken):
        rounds += 1
        await trio.lowlevel.checkpoint()
    assert sorted(loads, key=str) == sorted([*taken, Address("list", "7")], key=str)
    assert rounds >= 6
    await settle()
    world.cluster.load_before(taken[0], int(taken[0].key))
    assert len(loads) == len(taken) + 1, "all have loaded since the take"


async def test_shards_that_are_taken_while_others_load_are_loaded_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[Address] = []
    monkeypatch.setattr(world.runtime, "resync", loads.append)
    accounts = world.runtime.add("account", Actor, _make_no_actor)
    world.runtime.add("list", Actor, _make_no_actor)
    for number in range(4 * SLICE):
        accounts.cell(str(number))
    world.membership.take(range(128))
    while not loads:
        await trio.lowlevel.checkpoint()
    assert len(loads) < 2 * SLICE
    world.membership.take(range(128, 256))
    first = loads[0]
    world.membership.take([shard_of(first.key)])
    await settle()
    assert {address.key for address in loads} == accounts.cells.keys()
    assert loads.count(first) == 2, "it was lost and taken again since it has loaded"


def _make_no_actor(cell: Cell) -> Actor:
    raise AssertionError("no actor is loaded")


# Nodes that leave


async def leave(world: World, last: int) -> None:
    world.take(Farewell(last, UNKNOWN))
    world.change(left=[Member("two", 7, 2)])
    assert not world.cluster.is_complete
    await settle()
    assert world.cluster.is_complete
    assert world.ids.next() > HIGHEST


async def test_after_a_farewell_nothing_is_read_again_if_all_bundles_were_applied(world: World) -> None:
    await meet(world)
    world.take_bundle(1)
    await settle()
    await leave(world, last=1)
    assert world.memory.forgotten == 0


async def test_after_a_farewell_that_names_a_bundle_that_has_not_come_everything_is_read_again(world: World) -> None:
    await meet(world)
    world.take_bundle(1)
    world.take_bundle(3)
    await settle()
    await leave(world, last=3)
    assert world.memory.forgotten == 1


async def test_a_farewell_of_an_earlier_process_says_nothing_about_the_present_process(world: World) -> None:
    await meet(world)
    world.change(left=[Member("two", 7, 2)], joined=[Member("two", 8, 2)])
    world.take(Farewell(0, UNKNOWN))
    world.change(left=[Member("two", 8, 2)])
    await settle()
    assert world.memory.forgotten == 2


@pytest.mark.parametrize("has_published_all", [True, False])
async def test_a_node_that_stops_says_farewell_if_it_has_published_all(has_published_all: bool) -> None:
    async with trio.open_nursery() as nursery:
        world, stopping = World(nursery), trio.Event()
        await nursery.start(world.cluster.run, stopping)
        await meet(world)
        world.memory.has_published_all = has_published_all
        world.cluster.send([Work("anything")], NOWHERE)
        stopping.set()
        await settle()
        assert [body.last for body in world.bodies(Farewell)] == [1] * has_published_all


# Acknowledgements


async def ended(waiting: Awaitable[None]) -> float:
    await waiting
    return trio.current_time()


async def test_a_writer_waits_for_each_node_that_may_answer_from_memory(world: World) -> None:
    await meet(world)
    now = trio.current_time()
    waiting = world.cluster.send([Work("anything")], NOWHERE)
    assert waiting is not None
    with trio.move_on_after(0.2):
        await waiting
        pytest.fail("the other node has not acknowledged")
    waiting = world.cluster.send([Work("anything")], NOWHERE)
    assert waiting is not None
    assert await ended(waiting) - now == pytest.approx(VALID * (1 + DRIFT), abs=0.05)


async def test_an_acknowledgement_ends_the_wait(world: World) -> None:
    await meet(world)
    waiting = world.cluster.send([Work("anything")], NOWHERE)
    assert waiting is not None
    world.take(Acknowledgement(world.cluster.bundles.sent))
    began = trio.current_time()
    assert await ended(waiting) == began


async def test_an_acknowledgement_is_for_all_bundles_up_to_its_number(world: World) -> None:
    await meet(world)
    first, second, third = (world.cluster.send([Work("anything")], NOWHERE) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    world.take(Acknowledgement(2))
    world.take(Acknowledgement(1))  # was overtaken
    began = trio.current_time()
    assert await ended(first) == await ended(second) == began
    assert await ended(third) > began + 0.5


async def test_an_acknowledgement_of_a_former_process_ends_no_wait(world: World) -> None:
    await meet(world)
    waiting = world.cluster.send([Work("anything")], NOWHERE)
    assert waiting is not None
    world.take(Acknowledgement(world.cluster.bundles.sent), sender=6)
    world.take(Acknowledgement(world.cluster.bundles.sent), to=4)
    began = trio.current_time()
    assert await ended(waiting) > began + 0.5


async def test_a_node_that_was_removed_is_waited_for_as_long_as_it_may_answer(world: World) -> None:
    await meet(world)
    began = trio.current_time()
    world.change(left=[Member("two", 7, 2)])
    waiting = world.cluster.send([Work("anything")], NOWHERE)
    assert waiting is not None
    assert await ended(waiting) - began == pytest.approx(VALID * (1 + DRIFT), abs=0.05)


async def test_a_process_joins_once() -> None:
    """Its memory has missed facts since its child of the tree ended, and would look complete after a second join."""
    async with trio.open_nursery() as nursery:
        world, stopping = World(nursery), trio.Event()
        await nursery.start(world.cluster.run, stopping)
        await meet(world)
        stopping.set()
        await settle()
        with pytest.raises(Removed), trio.fail_after(1):
            await world.cluster.run(trio.Event())
        assert not world.cluster.is_complete


# Counts of rate limits


def told(world: World, subject: str) -> list[int]:
    """Return the counts of a subject that the node has told."""
    found = [body.counts["rule"][ends] for body in world.bodies(Counts) for ends in body.counts["rule"]]
    return [counts[subject] for counts in found if subject in counts]


async def test_counts_are_told_at_once_or_with_the_next_poll(world: World) -> None:
    await meet(world)
    ends = int(world.ids.now().timestamp()) + 300
    assert world.cluster.counts.add("rule", 240, ends, "ada", 10) == 0
    assert world.cluster.counts.add("rule", 240, ends, "bob", 9) == 0
    assert world.cluster.counts.add("rule", 240, ends, "eve", 1) == 0
    assert (told(world, "ada"), told(world, "bob")) == ([10], [])
    await trio.sleep(1.5 * POLL_EVERY)
    assert set(told(world, "bob")) == {9}
    await trio.sleep(20)
    assert set(told(world, "ada")) == {10}, "it is told again, because datagrams are lost"
    assert told(world, "eve") == []


async def test_the_counts_of_another_node_are_heard_until_it_has_ended_and_then_told_for_it(world: World) -> None:
    await meet(world)
    ends = int(world.ids.now().timestamp()) + 300
    world.take(Counts("", {"rule": {ends: {"ada": 30}}}))
    assert world.cluster.counts.add("rule", 240, ends, "ada", 1) == 30
    await trio.sleep(1)
    assert told(world, "ada") == []
    world.change(left=[Member("two", 7, 2)])
    world.join(8)
    await trio.sleep(1)
    assert world.cluster.counts.of_others("rule", ends, "ada") == 30
    body = world.bodies(Counts)[0]
    assert (body.of, body.counts) == ("two/7", {"rule": {ends: {"ada": 30}}})
    world.take(Counts("one/5", {"rule": {ends: {"ada": 1}}}), sender=8)
    assert world.cluster.counts.of_others("rule", ends, "ada") == 30, "its own counts are not another node's"


async def test_a_node_that_joins_is_told_all_counts_with_the_next_poll(world: World) -> None:
    await meet(world)
    ends = int(world.ids.now().timestamp()) + 300
    for number in range(100):
        world.cluster.counts.add("rule", 240, ends, f"client {number}", 20)
    await trio.sleep(11)
    world.change(joined=[Member("three", 9, 3)])
    await trio.sleep(1.5 * POLL_EVERY)
    bodies = [datagram.body for node, datagram in world.sent if node == "three"]
    told = {subject for body in bodies if isinstance(body, Counts) for subject in body.counts["rule"][ends]}
    assert len(told) == 100


async def test_a_node_that_ends_takes_no_more_datagrams() -> None:
    async with trio.open_nursery() as nursery:
        world, stopping = World(nursery), trio.Event()
        await nursery.start(world.cluster.run, stopping)
        await meet(world)
        stopping.set()
        await settle()
        world.take_bundle(1)
        world.take(SentCommand(1, "account/103", b"", SENT, 1.0))
        await settle()
        assert world.texts == []
        assert not world.cluster.is_complete

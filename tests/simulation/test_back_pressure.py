"""Bursts: publishers wait for timelines that have too much to do, but not for long, and no reader is cut for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
import trio

from troupe.actors.account import AccountActor
from troupe.actors.broadcast.broadcast import home_address
from troupe.actors.broadcast.events import StatusAppeared
from troupe.actors.cluster.others import Alone
from troupe.actors.commands.edits import EditStatus
from troupe.actors.effects.reminders import MuteEnded, StatusDue, reminder
from troupe.actors.facts.fact import Fact
from troupe.actors.facts.marks import UnmarkedStatus
from troupe.actors.facts.notifications import AddedNotification
from troupe.actors.facts.statuses import EditedStatus, PublishedStatus
from troupe.actors.kernel import Address, Cell, Envelope, Event, Feed, Origin, cell, feed, mailbox, mailbox_writer
from troupe.actors.kernel.mailbox_writer import MailboxWriter
from troupe.actors.outbox import fact_relay
from troupe.actors.shown.statuses import ShownStatus
from troupe.storage import outbox, stream_log
from troupe.supervision.testing import simulation
from troupe.supervision.testing.stage import Person, Simulation, stage

AUTHORS = ("ada", "bob", "cyd", "dan")
POSTS = 8  # by each: more, all in all, than a mailbox of this test takes


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mailboxes and feeds so small that a few posts are a burst."""
    monkeypatch.setattr(mailbox, "CAPACITY", 8)
    monkeypatch.setattr(mailbox, "KEPT_FOR_HINTS", 4)
    for module in (cell, feed, mailbox_writer):
        monkeypatch.setattr(module, "CROWDED", 3)


class Reader:
    """A subscriber that reads an event now and then, although its client would take them at once."""

    room = 0
    blocked_since = None

    def __init__(self, pause: float) -> None:
        self.seen: list[ShownStatus] = []
        self.cuts = 0
        self._pause = pause
        self._woken = trio.Event()
        self._feed: Feed | None = None

    def wake(self, feed: Feed) -> None:
        self._feed = feed
        self._woken.set()

    def cut(self) -> None:
        self.cuts += 1

    def ids(self, author: Person) -> list[int]:
        return [shown.id for shown in self.seen if shown.status.account_id == author.id]

    async def read(self) -> None:
        while True:
            await self._woken.wait()
            self._woken = trio.Event()
            while self._feed is not None and (events := self._feed.read(self, 1)):
                self._take(events[0].event)
                await trio.sleep(self._pause)

    def _take(self, event: Event) -> None:
        if isinstance(event, StatusAppeared):
            self.seen.append(event.status)


@simulation(seeds=8, world=stage)
async def test_a_burst_overruns_no_mailbox_and_cuts_no_reader(sim: Simulation) -> None:
    authors = await sim.people(*AUTHORS)
    (eve,) = await sim.people("eve")
    for author in authors:
        eve.has_followed(author)
    reader = Reader(pause=0.01)
    await sim.runtime.subscribe(home_address(eve.id), reader)

    async def publish(author: Person) -> None:
        for _ in range(POSTS):
            await author.publish()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.read)
        async with sim.together() as go:
            for author in authors:
                go(publish, author, name=author.name)
        await sim.calm()
        nursery.cancel_scope.cancel()
    assert [reader.ids(author) for author in authors] == [author.published for author in authors]
    assert reader.cuts == 0
    assert not sim.logged("mailbox.full")
    assert not sim.logged("stream.cut")


@simulation(seeds=8, world=stage)
async def test_the_answer_waits_for_a_second_and_the_relay_tells_the_rest_in_order(sim: Simulation) -> None:
    ada, bob, cyd = await sim.people("ada", "bob", "cyd")
    bob.has_followed(ada)
    reader = Reader(pause=1.5)
    await sim.runtime.subscribe(home_address(bob.id), reader)
    waits: list[float] = []

    async def publish() -> None:
        for _ in range(POSTS):
            began = trio.current_time()
            await ada.publish()
            waits.append(trio.current_time() - began)
            assert (await ada.home())[0] == ada.published[-1]

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.read)
        await publish()
        assert max(waits) < fact_relay.PUBLISHER_WAITS + 0.5
        began = trio.current_time()
        await cyd.publish()  # an author that no crowded timeline shows
        assert trio.current_time() - began < fact_relay.LOOK_FOR_ROOM
        await sim.calm()
        await trio.sleep(2 * POSTS)
        nursery.cancel_scope.cancel()
    assert reader.ids(ada) == ada.published
    assert await bob.home() == ada.published[::-1]
    assert not sim.logged("mailbox.full")
    assert sim.late > 0


@simulation(seeds=4, world=stage)
async def test_a_status_that_is_left_to_the_relay_changes_the_caches_of_other_nodes_at_once(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    reader, id = Reader(pause=30), 0
    await sim.runtime.subscribe(home_address(bob.id), reader)
    sent: list[set[type]] = []

    def send(self: Alone, facts: Sequence[Fact], origin: Origin) -> None:
        if any(getattr(fact, "for_author", False) or getattr(fact, "for_caches", False) for fact in facts):
            assert not any(isinstance(fact, AddedNotification) and fact.row for fact in facts)
            sent.append({type(fact) for fact in facts})

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.read)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Alone, "send", send)
            while not sent:
                assert len(ada.published) < 2 * POSTS
                id = await ada.publish("@bob hello")
            await ada.insist(EditStatus(id, "@bob good bye"))
            nursery.cancel_scope.cancel()
    assert sent == [{AddedNotification, PublishedStatus, UnmarkedStatus}, {EditedStatus}]
    await sim.calm()
    assert (await bob.home())[0] == id


@simulation(seeds=1, world=stage)
async def test_a_status_that_another_node_leaves_to_its_relay_is_shown_to_its_author_alone(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    bob.has_followed(ada)
    id = await ada.publish()
    assert await ada.home() == await bob.home() == [id]
    notified: list[Address] = []

    def post_to_all(self: MailboxWriter, cells: Iterable[Cell], envelope: Envelope) -> None:
        notified.extend(cell.address for cell in cells)

    def post(self: MailboxWriter, cell: Cell, envelope: Envelope) -> None:
        notified.append(cell.address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MailboxWriter, "post_to_all", post_to_all)
        patch.setattr(MailboxWriter, "post", post)
        facts = sim.actors.actor_context.facts
        await facts.receive([PublishedStatus(id, ada.id).before_relay()], Origin("test"))
        await facts.receive([EditedStatus(id).before_relay()], Origin("test"))
        assert notified == [home_address(ada.id)]
        await facts.receive([PublishedStatus(id, ada.id)], Origin("test"))
        assert home_address(bob.id) in notified


@simulation(seeds=5, world=stage)
async def test_reminders_of_a_busy_account_delay_no_other_account(sim: Simulation) -> None:
    ada, bob = await sim.people("ada", "bob")
    ended: list[float] = []

    async def take_long(self: AccountActor, message: StatusDue) -> None:
        await trio.sleep(9)

    def note(self: AccountActor, message: MuteEnded) -> None:
        ended.append(trio.current_time())

    relay = sim.actors.outbox
    busy = [reminder(ada.id, StatusDue(n, "-")) for n in range(30)]
    quiet = reminder(bob.id, MuteEnded(ada.id))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(AccountActor.turns, StatusDue, take_long)
        patch.setitem(AccountActor.turns, MuteEnded, note)
        began = trio.current_time()
        rows = relay.effects_of([*busy, quiet], Origin("test"))
        sim.database.arrange(outbox.insert_many, rows, sim.run.clock.now())
        await trio.sleep(5)
        assert [at - began < 2 for at in ended] == [True]
        sim.database.arrange(stream_log.log_published, dict.fromkeys([row.id for row in rows], 0), [], None)
        await trio.sleep(30)

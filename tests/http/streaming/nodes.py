"""A model of a cluster, around the parts that decide about ids of stream events: three nodes, one outbox, one log.

Publications, feeds and subscriptions are the server's own. The rest are the steps of a node, which a random run takes
in any order: a commit, the messages to the other nodes, the turns of a timeline, the writes into the log and their
outcomes, the death of a node and its removal. Clients move from node to node.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from troupe.actors.broadcast.publications import CURRENT, Progress, Publications
from troupe.actors.kernel import Event, Feed, Ids
from troupe.actors.kernel.feed import Logged, key_of
from troupe.actors.kernel.resumption import ResumptionPoint
from troupe.actors.timelines.missed import Missed, MissedEvent
from troupe.http.streaming.channels import StreamQuery, by_name
from troupe.http.streaming.session import Subscription

BEGAN = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Posted(Event):
    id: int


class Time:
    """The clock of a node, which is off by some seconds."""

    def __init__(self, world: "World", offset: float) -> None:
        self._world = world
        self._offset = timedelta(seconds=offset)

    def now(self) -> datetime:
        return self._world.now + self._offset


@dataclass(slots=True)
class Message:
    """A datagram. `last` is the number of the last bundle that was sent before its `progress`; `number` is its own."""

    sender: "Node"
    id: int
    last: int
    progress: Progress
    number: int = 0
    publication: int = 0
    posted: int = 0


@dataclass(slots=True)
class Inbound:
    """The messages of one other node at a receiver."""

    begins: int = 1  # the first number
    applied: set[int] = field(default_factory=set[int])
    lost: set[int] = field(default_factory=set[int])
    told: list[tuple[int, Progress]] = field(default_factory=list[tuple[int, Progress]])


class Node:
    def __init__(self, world: "World", name: str, number: int, offset: float) -> None:
        self.world = world
        self.name = name
        self.alive = True
        self.removed = False
        self.ready = False
        self.ids = Ids(Time(world, offset), number)
        self.publications = Publications(self.ids)
        self.feed = Feed()
        self.window = set[int]()  # the statuses on the timeline
        self.mailbox = deque[Callable[[], bool]]()  # turns, which return False as long as they wait
        self.arriving: list[Message] = []
        self.inbound: dict[Node, Inbound] = {}
        self.sent: dict[Node, int] = {}
        self.turns: dict[int, Iterator[None]] = {}  # the turn of each author that is running
        self.published: list[tuple[int, int]] = []
        self.flush: Iterator[None] | None = None

    # Other nodes

    def join(self, other: "Node") -> None:
        self.publications.join(other.name)
        self.inbound[other] = Inbound()
        self.sent[other] = 0

    def send(self, publication: int = 0, posted: int = 0) -> list[tuple["Node", int]]:
        """Send a bundle, or an answer to a poll. Return its number for each node."""
        for other in self.sent:
            last = self.sent[other]
            self.sent[other] += bool(posted)
            other.arriving.append(
                Message(self, self.ids.next(), last, self.publications.progress(),
                        self.sent[other] if posted else 0, publication, posted)
            )  # fmt: skip
        return list(self.sent.items())

    def has_applied(self, other: "Node", number: int) -> bool:
        """True if no turn waits for a bundle of another node any more. The wait for a lost bundle ends with a lease."""
        inbound = self.inbound.get(other)
        return inbound is None or not self.alive or number < inbound.begins or number in inbound.applied | inbound.lost

    def receive(self, message: Message) -> None:
        if (inbound := self.inbound.get(message.sender)) is None:
            return
        self.ids.witness(message.id)
        if message.posted and message.number not in inbound.applied and message.number >= inbound.begins:
            Context().run(self._apply, message)
            inbound.applied.add(message.number)
        if any(inbound.begins <= number <= message.last for number in inbound.lost):
            self.reread()  # a gap: ignore what is on its way
            inbound.begins = message.last + 1
        inbound.told.append((message.last, message.progress))
        self.hear(message.sender)

    def hear(self, other: "Node") -> None:
        """Note the progress that was told after bundles which have all arrived."""
        inbound = self.inbound[other]
        while inbound.begins in inbound.applied:
            inbound.applied.remove(inbound.begins)
            inbound.begins += 1
        for last, progress in list(inbound.told):
            if last < inbound.begins:
                inbound.told.remove((last, progress))
                self.publications.hear(other.name, progress)

    def _apply(self, message: Message) -> None:
        with self.publications.foreign(message.sender.name, message.publication):
            self.post(message.posted)

    def leave(self, other: "Node") -> None:
        self.reread()
        del self.inbound[other], self.sent[other]
        self.publications.leave(other.name, max((*self.world.log, *self.world.posted), default=0))

    # The timeline

    def post(self, id: int) -> None:
        """Put the message about a status into the mailbox of the timeline."""
        event = self.publications.with_position(Posted(id))

        def show() -> bool:
            self.window.add(id)
            self.feed.append_new(id, event)
            return True

        self.mailbox.append(show)

    def reread(self) -> None:
        """Let the timeline read its rows before its next message."""

        def show() -> bool:
            for id in sorted((*self.world.outbox, *self.world.log.values())):
                self.window.add(id)
                self.feed.append_new(id, Posted(id))
            return True

        self.mailbox.appendleft(show)

    def take_turn(self) -> None:
        if self.mailbox[0]():
            self.mailbox.popleft()
        self.feed.catch_up()

    # Turns of authors, and the log

    def write(self, author: int) -> Iterator[None]:
        """Post a status."""
        for id in [id for id, by in self.world.outbox.items() if by == author]:  # left by a turn that has failed
            if id not in (promised for promised, _ in self.published):
                yield from self._publish(id, trouble=0)
        id = self.ids.next()
        self.world.outbox[id] = author
        self.world.posted[id] = author
        yield
        yield from self._publish(id, self.world.trouble)

    def sweep(self, author: int) -> Iterator[None]:
        """Publish what is left of an author."""
        for id in [id for id, by in self.world.outbox.items() if by == author]:
            if id not in (promised for promised, _ in self.published):
                yield from self._publish(id, trouble=0)

    def _publish(self, id: int, trouble: float) -> Iterator[None]:
        with self.publications.publication() as number:
            pass  # it stays open; only the context variable ends
        context = Context()
        context.run(CURRENT.set, number)
        yield
        sent = self.send(number, id)
        fails = self.world.random.random() < trouble
        if not fails or self.world.random.random() < 0.5:
            yield
            context.run(self.post, id)
            yield
        while any(not other.has_applied(self, number) for other, number in sent):  # until it is acknowledged
            yield
        if fails:
            self.publications.hold(number)
        else:
            self.published.append((id, number))

    def write_log(self) -> Iterator[None]:
        world, batch = self.world, list(self.published)
        positions = {id: self.ids.next() for id, _ in batch}
        self.publications.will_log(min(positions.values()))
        yield
        lost = world.random.random() < world.trouble
        if not lost or world.random.random() < 0.5:
            if self.removed:
                return  # refused
            for id, position in positions.items():
                if world.outbox.pop(id, None) is not None:
                    world.log[position] = id
            yield
        if not lost and self.alive:
            del self.published[: len(batch)]
            self.publications.logged((number for _, number in batch), max(positions.values()))


class Client:
    """A client that is shown every status, and resumes on any node."""

    def __init__(self, world: "World", node: Node) -> None:
        self.world = world
        self.node = node
        self.shown: list[int] = []
        self.since = ""
        self.hops = 0
        self._connect(node)

    def _connect(self, node: Node) -> None:
        self.node = node
        session = SimpleNamespace(account_id=None, token=None, room=10_000, is_paused=False, wake=self._ignore)
        self.subscription = Subscription(cast("Any", session), by_name(StreamQuery(stream="public")))
        self.missed: deque[Logged] | None = None
        self.joined = self.asked = False
        self._last: int | None = None

    def _ignore(self, *_: object) -> None: ...

    def hop(self, node: Node) -> None:
        self.hops += 1
        self.node.feed.unsubscribe(self.subscription)
        self._connect(node)

    def step(self) -> None:
        """Do the next thing: reach the position, join, ask, or read one event."""
        publications = self.node.publications
        point = ResumptionPoint.read(self.since)
        if not self.joined:
            if publications.position >= (point.position if point is not None else 1):
                self.joined = True
                self.node.mailbox.append(self._turn(self._join))
                self.node.mailbox.append(self._turn(self._ask()))
        elif self.missed is not None:
            self._read()

    def _turn(self, turn: Callable[[], bool]) -> Callable[[], bool]:
        subscription = self.subscription
        return lambda: subscription is not self.subscription or turn()

    def _join(self) -> bool:
        feed = self.node.feed
        feed.subscribe(self.subscription)
        if len(feed) == 1:
            feed.begin(self.node.window, 0)
        return True

    def _ask(self) -> Callable[[], bool]:
        steps = self._missed_by()
        return lambda: next(steps, None) is not None

    def _missed_by(self) -> Iterator[bool | None]:
        """As `missed_by`, in steps: None while it waits."""
        world, publications = self.world, self.node.publications
        last = publications.begun
        while publications.oldest_unlogged <= last:
            yield None
        missed = Missed(publications.position, publications.newest, publications.begun, publications.unlogged())
        yield None
        point = ResumptionPoint.read(self.since)
        events: list[MissedEvent] = []
        if point is not None:
            assert point.position <= missed.position
            rows: list[tuple[int | None, int]] = [row for row in sorted(world.log.items()) if row[0] > point.position]
            rows += [(None, id) for id in sorted(world.outbox)]
            events = [
                MissedEvent(key_of(id), position, cast("Any", Posted(id)))
                for position, id in rows
                if key_of(id) not in point.keys
            ]
        self.missed = deque(self.subscription.resumed(Missed(
            missed.position, missed.newest, missed.published, missed.unlogged, tuple(events)
        ), point))  # fmt: skip
        yield True

    def _read(self) -> None:
        assert self.missed is not None
        logged = self.missed.popleft() if self.missed else next(iter(self.node.feed.read(self.subscription, 1)), None)
        if logged is None or self.subscription.has_shown(logged):
            return
        if isinstance(logged.event, Posted):
            self.shown.append(logged.event.id)
        self.since = self.subscription.id_of(logged) or self.since


class World:
    """A random run. `trouble` is the probability that a publication fails, or that the outcome of a write is lost.

    `loss` is the probability that a bundle is lost.
    """

    def __init__(self, seed: int, trouble: float, loss: float) -> None:
        self.random = Random(seed)
        self.trouble = trouble
        self.loss = loss
        self.now = BEGAN
        self.outbox: dict[int, int] = {}
        self.log: dict[int, int] = {}
        self.posted: dict[int, int] = {}
        self.writes: list[Iterator[None]] = []  # that PostgreSQL still executes for a dead node
        self.nodes = [Node(self, name, number, self.random.uniform(-30, 30)) for number, name in enumerate("abc")]
        self.owners = {author: self.nodes[author % 3] for author in range(4)}
        self.leaving: list[tuple[Node, Node]] = []
        for node in self.nodes:
            for other in self.nodes:
                if other is not node:
                    node.join(other)
        self.poll()
        self.clients = [Client(self, self.random.choice(self.nodes)) for _ in range(3)]
        for _ in range(200):  # all begin before the first status
            self._step([self._move_message, self._take_turn, self._step_client])
        assert all(client.since for client in self.clients)

    @property
    def living(self) -> list[Node]:
        return [node for node in self.nodes if node.alive]

    def poll(self) -> None:
        for node in self.living:
            node.send()

    def run(self, steps: int, *, killed: bool = False) -> None:
        often = [self._take_turn, self._take_turn, self._step_client, self._step_client, self._go_on_writing]
        often += [self._move_message] * 3
        steps_taken = [*often * 3, *[self._begin, self._poll_one] * 2, self._write_log, self._hop, self._remove]
        for step in range(steps):
            self._step(steps_taken)
            if killed and step == steps // 2:
                self._kill()
        self.trouble = self.loss = 0.0
        for _ in range(60):
            self.poll()
            for _ in range(40):
                self._step([self._remove, self._sweep, self._write_log, self._go_on_writing])
            for node in self.living:
                while node.arriving:
                    node.receive(node.arriving.pop(self.random.randrange(len(node.arriving))))
                for _ in range(len(node.mailbox)):
                    node.take_turn()
            for _ in range(20):
                self._step([self._step_client])
        assert not self.outbox

    def check(self) -> None:
        for client in self.clients:
            assert sorted(client.shown) == sorted(self.posted), "each status is shown once"
            for author in self.owners:
                shown = [id for id in client.shown if self.posted[id] == author]
                assert shown == [id for id, by in self.posted.items() if by == author], "in order"

    def _step(self, choices: list[Callable[[], None]]) -> None:
        self.now += timedelta(milliseconds=self.random.choice([0, 1, 20]))
        self.random.choice(choices)()

    def _poll_one(self) -> None:
        self.random.choice(self.living).send()

    def _move_message(self) -> None:
        node = self.random.choice(self.living)
        if node.arriving:
            message = node.arriving.pop(self.random.randrange(len(node.arriving)))
            inbound = node.inbound.get(message.sender)
            if inbound is not None and message.number and self.random.random() < self.loss:
                inbound.lost.add(message.number)
            else:
                node.receive(message)

    def _take_turn(self) -> None:
        node = self.random.choice(self.living)
        if node.mailbox:
            node.take_turn()

    def _step_client(self) -> None:
        client = self.random.choice(self.clients)
        if client.node.alive:
            client.step()
        else:
            client.hop(self.random.choice(self.living))

    def _hop(self) -> None:
        self.random.choice(self.clients).hop(self.random.choice(self.living))

    def _begin(self) -> None:
        author = self.random.choice(list(self.owners))
        node = self.owners[author]
        if node.alive and author not in node.turns:
            node.turns[author] = node.write(author)

    def _sweep(self) -> None:
        author = self.random.choice(list(self.owners))
        node = self.owners[author]
        if node.alive and author not in node.turns:
            node.turns[author] = node.sweep(author)

    def _go_on_writing(self) -> None:
        node = self.random.choice(self.living)
        if node.turns:
            author = self.random.choice(list(node.turns))
            if next(node.turns[author], self) is self:
                del node.turns[author]

    def _write_log(self) -> None:
        if self.writes and self.random.random() < 0.3 and next(self.writes[0], self) is self:
            self.writes.pop(0)
        node = self.random.choice(self.living)
        if node.flush is None and node.published:
            node.flush = node.write_log()
        if node.flush is not None and next(node.flush, self) is self:
            node.flush = None

    def _kill(self) -> None:
        dead = self.random.choice(self.living)
        dead.alive = False
        if dead.flush is not None:
            self.writes.append(dead.flush)
        self.leaving = [(node, dead) for node in self.living]

    def _remove(self) -> None:
        """A node notices that another is dead, and takes over from it."""
        if not self.leaving or self.random.random() < 0.7:
            return
        node, dead = self.leaving.pop(self.random.randrange(len(self.leaving)))
        dead.removed = True
        node.leave(dead)
        if not any(left is dead for _, left in self.leaving):
            for author in [author for author, owner in self.owners.items() if owner is dead]:
                self.owners[author] = self.random.choice(self.living)

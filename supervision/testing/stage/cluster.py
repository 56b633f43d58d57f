"""Several nodes on one database, and people whose requests go to any of them.

    @simulation(seeds=40, faults=3, world=partial(cluster, 3))
    async def test_a_follower_sees_everything_on_every_node(sim: SimulatedCluster) -> None:
        ada, bob = await sim.people("ada", "bob")
        bob.has_followed(ada)
        status = await ada.publish()
        assert status in await bob.home()

What runs on each node is the product's own tree of actors with its cluster part. Only the transport is simulated: it
delays, loses, repeats and reorders datagrams as the plan of faults decides. A scenario may also cut ways between nodes,
and freeze, kill, drain and start nodes, or start `sim.storm` beside its requests, which does so at random.

A node that is not complete answers nothing, as its HTTP server would. The claims of scenarios with one server hold for
all nodes together.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeVar

import trio

from ....actors.broadcast.publications import Publications
from ....actors.cluster.cluster import OtherNodes
from ....actors.cluster.membership import Membership
from ....actors.cluster.others import Incomplete, Others
from ....actors.codec import CODEC
from ....actors.facts.fact import Facts
from ....actors.kernel import IDLE, NOWHERE, Address, Message, Origin
from ....actors.kernel.errors import OwnerLost
from ....actors.kernel.message import R
from ....actors.mail.templates import Letter
from ....actors.shown.statuses import ShownStatus
from ....http.access.streams import StreamEnd
from ....http.streaming.session import StreamSession
from ....storage.engine.database import Removed
from ....storage.engine.shards import Epochs
from ...supervisor import Child
from ..bus import SimulatedBus
from ..lockstep import LockstepDatabase
from ..run import Broken, Eventually, Go, Run
from .api import Dropped, SimulatedReply
from .copies import outdated
from .memberships import ShardClaims
from .patience import insist
from .people import Person, sign_in, token_of
from .postgres import overlapping_sessions, sandbox
from .resuming import ResumingStream
from .server import DOMAIN, Answering, Delivered, Pushed, ServerPlace, SimulatedServer
from .simulation import LONGEST_STORM, WRONG_COUNTS, settle_in
from .stream import Stream

T = TypeVar("T")
C = TypeVar("C", bound="SimulatedCluster")

PATIENCE = 12.0  # seconds that a client waits for an answer
RESTART_AFTER = 1.0  # seconds until a node that was removed is started again
# The clocks of the nodes, in seconds from the time of the run.
OFFSETS = (0.0, 60.0, -60.0, 7.0, -0.5)

# Of a storm, in seconds.
LONGEST_PAUSE = 3.0  # between two of its blows
LONGEST_OUTAGE = 6.0  # of a node, or of a way between nodes
FREEZES = (0.2, 8.0)


class Blow(Enum):
    """The ways in which a storm strikes nodes. The value is its text in a trace."""

    RESTART = "a node is killed, and starts again later"
    FREEZE = "a node is frozen for a while"
    CUT = "ways between nodes are cut for a while"
    DRAIN = "a node stops in order, and starts again later"
    JOIN = "a further node joins"


class Parts(NamedTuple):
    """The parts of a server that scenarios may have: as in `stage`."""

    mail: bool = False
    push: bool = False
    previews: bool = False
    deliveries: bool = False
    loaders: bool = False


NO_PARTS = Parts()


@asynccontextmanager
async def cluster(
    run: Run, nodes: int, *, idle: float = IDLE, overlapping: bool = False, **parts: bool
) -> AsyncGenerator[SimulatedCluster]:
    """The world of a scenario about several nodes: every actor on each of them, and no accounts yet.

    With `overlapping`, transactions overlap, also those of several nodes, and a node may die in the middle of one.
    `parts` are those of `stage` that each node has too: see `Parts`.
    """
    async with (
        trio.open_nursery() as nursery,
        living(SimulatedCluster(run, nursery, nodes, idle, Parts(**parts), overlapping=overlapping)) as sim,
    ):
        yield sim
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def living(sim: C) -> AsyncGenerator[C]:
    """Start all nodes, and stop them at the end."""
    for node in sim.nodes:
        await node.start()
    yield sim
    sim.bus.heal()
    sim.bus.is_faulty = False
    for node in sim.nodes:
        if node.running.is_set():
            await node.stop()


class BusOf:
    """The transport of a node."""

    def __init__(self, bus: SimulatedBus, name: str) -> None:
        self._bus = bus
        self._name = name

    def send(self, node: str, datagram: bytes) -> None:
        self._bus.send(self._name, node, datagram)


class SimulatedNode(SimulatedServer):
    """A node of a simulated cluster. After a kill, or when it was removed, `start` begins a new process of it."""

    fatal = (Removed,)

    def __init__(self, world: SimulatedCluster, name: str, offset: float, idle: float, parts: Parts) -> None:
        self.name = name
        #: True while a process of the node is alive, or about to start again after it was removed.
        self.is_up = False
        self._world = world
        run = world.run
        place = ServerPlace(DOMAIN, world.open_database(f"{name} "), f"{name} ", clock_offset=offset)
        self._changed = trio.Event()  # when a process runs, or has ended
        super().__init__(run, world.nursery, idle, **parts._asdict(), place=place)
        # What other servers, the mail server and the push service have got from any node, in order.
        self.mails, self.pushed, self.delivered = world.mails, world.pushed, world.delivered
        self.answers = world.answers

    def _others(self, facts: Facts, publications: Publications) -> Others:
        membership = Membership(self.database, self.name, trio.current_time)
        self.database.epochs = membership.own
        self.database.observe_commit = self._check_commit
        self.cluster = OtherNodes(
            membership, BusOf(self._world.bus, self.name), self.database, self.runtime, CODEC, facts, publications,
            self._ids, self.record, trio.current_time,
        )  # fmt: skip
        self.runtime.owners = self.cluster.commands
        return self.cluster

    def _check_commit(self, shard: int, epoch: int) -> None:
        self._world.shards.check_commit(shard, epoch)

    def _children_of_node(self) -> list[Child]:
        return [Child("cluster", self.cluster.run)]

    # The life of the node

    async def start(self) -> None:
        """Start a process, unless there is one, and wait until it runs or has ended."""
        if not self.is_up:
            self._begin()
        while self.is_up and not self.running.is_set():
            await self._changed.wait()

    def _begin(self) -> None:
        self.is_up = True
        if self._stopped.is_set():
            self.database.restore()
            self._build()
        self._world.nursery.start_soon(self._live_on, name=f"{self.name} server")

    def started(self, value: None = None) -> None:
        """The process runs: the supervisor calls this."""
        self.running.set()
        self.run.note("has joined", self.name)
        self._change()

    async def _live_on(self) -> None:
        self._world.bus.join(self.name, lambda sender, datagram: self.cluster.receive(sender, datagram))
        was_removed = False
        try:
            await self._live(task_status=self)
        except* Removed:
            self.run.note("was removed", self.name)
            was_removed = not self._stopping.is_set()
        finally:
            for life in list(self._requests):
                life.cancel("the process has ended")
            self.running = trio.Event()
            self._world.bus.leave(self.name)
            self._stopped.set()
            self.is_up = was_removed
            self._change()
        if was_removed:
            # In a task of the world: it is the service manager that starts the process again.
            self._world.nursery.start_soon(self._start_again, name=f"restart of {self.name}")

    async def _start_again(self) -> None:
        await trio.sleep(RESTART_AFTER)
        self._begin()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    # Its clients

    async def answer(self, work: Callable[[], Awaitable[T]], *, changes: bool = False) -> T:
        """Send a request to the node, and return its answer. Raises NotAnswered if there is none.

        As its HTTP server does, it answers from memory only if the node is complete, also when the answer is made.
        """

        async def gated() -> T:
            if not self.cluster.is_complete:
                raise Incomplete
            answer = await work()
            if not (changes or self.cluster.is_complete):
                raise Incomplete
            return answer

        with trio.move_on_after(PATIENCE), suppress(Dropped):
            return await self.serve(gated)
        raise OwnerLost("the connection broke")


class AnyNode:
    """The part of a server that people use, of any node that runs: another at each request."""

    def __init__(self, world: SimulatedCluster) -> None:
        self._world = world

    async def ask(self, address: Address, message: Message[R], *, origin: Origin = NOWHERE) -> R:
        node = self._world.pick()
        return await node.answer(lambda: node.runtime.ask(address, message, origin=origin), changes=message.at_owner)


class NodeStream:
    """A session of a node. Its client gets nothing from a node that is frozen or dead."""

    def __init__(self, node: SimulatedNode, session: StreamSession) -> None:
        self._node = node
        self._session = session

    @property
    def ended(self) -> StreamEnd | None:
        return self._session.ended

    async def take(self) -> list[bytes]:
        """Return the next frames, an empty list after the end. A stream ends with its node."""
        with suppress(Dropped):
            return await self._node.serve(self._session.take)
        return []

    def close(self) -> None:
        self._session.close()


class AnyApi:
    """The API of any node that runs: of another at each request. A node that does not answer has dropped the client."""

    def __init__(self, world: SimulatedCluster) -> None:
        self._world = world

    async def send(
        self, method: str, path: str, token: str | None = None, fields: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> SimulatedReply:  # fmt: skip
        node = await self._pick()
        with trio.move_on_after(PATIENCE):
            return await node.serve(partial(node.api.send, method, path, token, fields, headers))
        raise Dropped

    async def stream(self, name: str, token: str, parameter: str = "", since: str = "") -> NodeStream:
        """Open a stream. Raises NotAnswered, StorageError and Dropped."""
        node = await self._pick()
        with trio.move_on_after(PATIENCE):
            return NodeStream(node, await node.serve(partial(node.api.stream, name, token, parameter, since)))
        raise Dropped

    async def _pick(self) -> SimulatedNode:
        try:
            return self._world.pick()
        except OwnerLost:
            await trio.sleep(RESTART_AFTER)
            raise Dropped from None


class SimulatedCluster:
    """The nodes `n1`, `n2` …, and the claims that hold in every scenario."""

    def __init__(
        self, run: Run, nursery: trio.Nursery, nodes: int, idle: float, parts: Parts = NO_PARTS, *,
        overlapping: bool = False,
    ) -> None:  # fmt: skip
        run.postgres = sandbox
        self.run = run
        self.clock = run.clock
        self.nursery = nursery
        self.bus = SimulatedBus(run, nursery)
        self.nodes: list[SimulatedNode] = []
        self.mails: list[Letter] = []  # that arrived from any node, in order
        self.pushed: list[Pushed] = []
        self.delivered: list[Delivered] = []
        self.answers: dict[str, Answering] = {}  # of other servers, by host, to each node
        self._idle = idle
        self._parts = parts
        self._overlapping = overlapping
        self._struck: set[SimulatedNode] = set()  # by blows of a storm
        for _ in range(nodes):
            self.join()
        self.place = self.nodes[0].place
        self.database = self.nodes[0].database  # for claims and for the rows at the beginning
        self._rows = self.database.instant()
        self.shards = ShardClaims(self.database, self._epochs)
        run.always(self.shards.check, "the epochs of shards are right")
        self.runtime = AnyNode(self)
        self.api = AnyApi(self)
        self.running = trio.Event()
        self.running.set()  # one node or another does
        self._streams: list[Stream] = []
        self._people: dict[int, Person] = {}
        self._signed_in: set[int] = set()
        run.always(self._streams_are_right, "streams show no error")
        run.eventually(self._effects_have_run, "every effect has run")
        run.eventually(self._counts_are_right, "every count is that of the rows")
        run.eventually(self._copies_equal_rows, "every copy in the memory of every node equals its rows")

    def pick(self) -> SimulatedNode:
        """Return a node, drawn by the run. It may be frozen. Raises OwnerLost if none runs."""
        running = [node for node in self.nodes if node.running.is_set()]
        if not running:
            raise OwnerLost("no node runs")
        return self.run.random.choice(running)

    # People

    async def people(self, *names: str, locked: bool = False) -> Sequence[Person]:
        """Return several persons with fresh accounts, which exist before the scenario begins."""
        people = [Person(self, self.new_id(), name) for name in names]
        self.database.arrange(settle_in, people, self.nodes[0].base_url, self.run.clock.now(), locked=locked)
        self._people |= {person.id: person for person in people}
        return people

    def sign_in(self, people: Sequence[Person]) -> None:
        """Give people tokens for the API. `token_of` returns them."""
        new = [person for person in people if person.id not in self._signed_in]
        self._signed_in.update(person.id for person in new)
        self.database.arrange(sign_in, new, self.new_id, self.run.clock.now())

    def open_database(self, label: str) -> LockstepDatabase:
        """Return the database of a node. All nodes have the same rows."""
        if self._overlapping:
            return self.run.open_overlapping(overlapping_sessions, label)
        return self.run.open_database(sandbox, label)

    def new_id(self) -> int:
        return self.nodes[0].new_id()

    async def find_shown(self, status: int) -> ShownStatus | None:
        node = self.pick()
        return await node.answer(lambda: node.find_shown(status))

    async def shown(self, ids: Sequence[int]) -> list[int]:
        """Return the statuses of a page that can still be rendered."""

        async def show() -> list[int]:
            node = self.pick()
            return list(await node.answer(lambda: node.actors.statuses.show_many(ids)))

        return await insist(self, "a page", show)

    def stream_at(self, name: str, address: Address, read: Callable[[], Awaitable[list[int]]]) -> Stream:
        """Return a client of a home, which is not connected yet. It resumes on any node."""
        return self._stream(name, self._people[int(address.key)], "user", "", read)

    async def open_stream(self, stream: Stream) -> Stream:
        self._streams.append(stream)
        await stream.connect()
        return stream

    async def listen(
        self, person: Person, name: str = "user", parameter: str = "",
        read: Callable[[], Awaitable[list[int]]] | None = None,
    ) -> ResumingStream:  # fmt: skip
        """Open a stream of the API, with its name and parameter. `read` reads the page of its timeline."""
        who = f"{person.name}'s {' '.join(filter(None, [name, parameter]))} {len(self._streams) + 1}"
        stream = self._stream(who, person, name, parameter, read or person.home)
        await self.open_stream(stream)
        return stream

    def _stream(
        self, who: str, person: Person, name: str, parameter: str, read: Callable[[], Awaitable[list[int]]]
    ) -> ResumingStream:
        self.sign_in([person])

        async def texts() -> dict[int, str]:
            found = [await insist(self, who, partial(self.find_shown, id)) for id in await read()]
            return {shown.id: shown.status.text for shown in found if shown is not None}

        return ResumingStream(
            self.run, who, lambda api, since: api.stream(name, token_of(person), parameter, since), self.pick, texts,
            self.nursery,
        )  # fmt: skip

    # Storms

    async def storm(self, *kinds: Blow, blows: int = 4) -> None:
        """Strike nodes and the ways between them at random moments: start this beside the requests of people.

        `kinds` are the kinds of blows, all by default. Blows overlap, but a node is left that no other blow strikes.
        The storm ends when the nodes that it has stopped run again.
        """
        chance = self.run.random
        async with trio.open_nursery() as nursery:
            for _ in range(blows):
                await trio.sleep(chance.random() * LONGEST_PAUSE)
                blow = chance.choice(kinds or [*Blow])
                self.run.note(f"STORM: {blow.value}", "-")
                nursery.start_soon(self._strike, blow, name=f"storm {blow.name}")

    async def _strike(self, blow: Blow) -> None:
        chance = self.run.random
        if blow is Blow.JOIN:
            await self.join().start()
        elif blow is Blow.CUT:
            await self._cut()
        else:
            untouched = [node for node in self.nodes if node.running.is_set() and node not in self._struck]
            if len(untouched) < 2:
                return
            node = chance.choice(untouched)
            self._struck.add(node)
            try:
                await self._strike_node(blow, node)
            finally:
                self._struck.remove(node)

    async def _strike_node(self, blow: Blow, node: SimulatedNode) -> None:
        chance = self.run.random
        if blow is Blow.FREEZE:
            self.run.freeze(node.place.label)
            await trio.sleep(chance.uniform(*FREEZES))
            self.run.thaw(node.place.label)
            return
        if blow is Blow.RESTART:
            await node.kill()
        else:
            await node.stop()
        await trio.sleep(chance.random() * LONGEST_OUTAGE)
        await node.start()

    async def _cut(self) -> None:
        """Cut a way, both ways between two nodes, or all ways of a node. The end of a cut heals all ways."""
        chance = self.run.random
        first, other = (node.name for node in chance.sample(self.nodes, 2))
        match chance.choice(["one way", "both ways", "all ways"]):
            case "one way":
                self.bus.cut(first, other)
            case "both ways":
                self.bus.cut(first, other)
                self.bus.cut(other, first)
            case _:
                self.bus.cut_off(first)
        await trio.sleep(chance.random() * LONGEST_OUTAGE)
        self.bus.heal()

    def join(self, name: str = "") -> SimulatedNode:
        """Return a further node, which is to be started. It may have the name of a node whose process still runs."""
        number = len(self.nodes)
        node = SimulatedNode(self, name or f"n{number + 1}", OFFSETS[number % len(OFFSETS)], self._idle, self._parts)
        self.nodes.append(node)
        return node

    async def crash(self) -> None:
        """Strike a node or the ways between nodes, as a storm does, and wait until it is over."""
        await self._strike(self.run.random.choice([*Blow]))

    def together(self) -> AbstractAsyncContextManager[Go]:
        """Start functions beside each other. Datagrams have faults again, also after `calm`."""
        self.bus.is_faulty = True
        return self.run.together()

    # Time

    async def calm(self) -> None:
        """Wait until the bus is whole, all nodes run and are complete, and all started work is done."""
        self.bus.heal()
        self.bus.is_faulty = False
        for node in self.nodes:
            self.run.thaw(node.place.label)
        await Eventually(
            self._is_calm, "every node is complete, and every effect has run", within=LONGEST_STORM
        ).wait_until_true()
        await trio.sleep(5)
        await Eventually(self._is_calm, "the cluster stays calm", within=LONGEST_STORM).wait_until_true()
        await self.run.quiet()
        if different := self._outdated():
            raise Broken("; ".join(different))

    def _is_calm(self) -> bool:
        return (
            all(node.running.is_set() and node.cluster.is_complete for node in self.nodes if node.is_up)
            and self._effects_have_run()
            and all(stream.open for stream in self._streams)
        )

    # The claims of every scenario

    def _epochs(self) -> Iterable[Epochs]:
        """Return the epochs of all processes that are alive, also of those that are frozen."""
        return (node.database.epochs for node in self.nodes if isinstance(node.database.epochs, Epochs))

    def _streams_are_right(self) -> None:
        for stream in self._streams:
            stream.check()

    def _effects_have_run(self) -> bool:
        first = self.database.rows("SELECT min(due_at) AS due_at FROM outbox")[0]["due_at"]
        return first is None or first > self.run.clock.now()

    def _outdated(self) -> list[str]:
        """Return the copies in the memory of any node that differ from their rows."""
        running = [node for node in self.nodes if node.running.is_set()]
        return [f"{node.name}: {copy}" for node in running for copy in outdated(node.actors, self._rows)]

    def _copies_equal_rows(self) -> bool:
        return not self._outdated()

    def _counts_are_right(self) -> bool:
        return not self.database.rows(WRONG_COUNTS)

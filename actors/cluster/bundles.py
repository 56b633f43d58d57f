"""Bundles: the facts of a commit for the other nodes, their acknowledgements, and the polls that find lost bundles.

A turn that has published facts answers when every node has acknowledged its bundle, or may no longer answer from memory
(`peers.py`). A node acknowledges a bundle when its caches and stream rules have changed and its actors' mailboxes have
the messages, so that each later request on that node sees the change.

A bundle that is lost is noticed by the next poll. Then the node reads everything again: it does not ask for the bundle.
It does the same when a node has ended, because the last facts of that node may be lost, unless the node has said
farewell with the number of its last bundle.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from typing import Protocol, TypeVar

import trio

from ...storage.engine.database import Database, StorageError
from ...storage.upkeep.highest import highest_id
from ..broadcast.publications import Publications
from ..kernel import Origin, Record
from ..kernel.codec import Codec
from ..kernel.errors import describe
from .peers import LeaseClock, Peer
from .wire import Acknowledgement, Body, Bundle, Farewell, PeerPoll, PollAnswer, Sent

T = TypeVar("T")

SendBody = Callable[[Peer, Body], None]
AGAIN = 0.5  # seconds until everything is read again, after the database was away


class Memory(Protocol):
    """The copies of this node, which follow facts."""

    async def receive(self, facts: Sequence[object], origin: Origin) -> None:
        """Apply the facts of a commit of another node."""
        ...

    @property
    def has_published_all(self) -> bool:
        """True if no fact of a commit of this node is still to be sent."""
        ...

    async def forget(self) -> None:
        """Drop all copies, because facts are lost. Raises StorageError if they can't be read again."""
        ...


class Acknowledgements(Awaitable[None]):
    """The wait until each node has acknowledged a bundle, or may no longer answer from memory.

    A turn that fails after it has sent the bundle does not wait.
    """

    def __init__(self, until: dict[Peer, float], now: LeaseClock) -> None:
        self._until = until
        self._now = now
        self._changed = trio.Event()

    def acknowledge(self, peer: Peer) -> None:
        self._until.pop(peer, None)
        self._changed.set()

    def is_over(self, now: float) -> bool:
        return all(until <= now for until in self._until.values())

    def __await__(self) -> Generator[object, None, None]:
        return self._end().__await__()

    async def _end(self) -> None:
        while not self.is_over(now := self._now()):
            self._changed = trio.Event()
            with trio.move_on_after(max(self._until.values()) - now):
                await self._changed.wait()


class Bundles:
    """The bundles that this node sends and receives."""

    def __init__(
        self, database: Database, codec: Codec, memory: Memory, publications: Publications, send: SendBody,
        peers: Callable[[], Iterable[Peer]], notice: Callable[[], None], record: Record, now: LeaseClock,
    ) -> None:  # fmt: skip
        self.sent = 0  # the number of the last bundle
        self.forgetting = 0  # times that everything is being read again
        self._database = database
        self._codec = codec
        self._memory = memory
        self._publications = publications
        self._send = send
        self._peers = peers
        self._notice = notice  # called when `forgetting` changes
        self._record = record
        self._now = now
        self._waiting: dict[int, Acknowledgements] = {}
        self._lost: list[Peer] = []  # removed nodes that may still answer from memory for a moment

    # The own facts --------------------------------------------------------------------------------------------------

    def send(self, facts: Sequence[object], origin: Origin) -> Awaitable[None] | None:
        """Send the facts of a commit to all peers. Return the wait for their acknowledgements."""
        now = self._now()
        peers = list(self._peers())
        self._lost = [peer for peer in self._lost if peer.may_answer_until > now]
        self._forget_waits(now)
        self.sent += 1
        if not peers and not self._lost:
            return None
        encoded = [self._codec.encode(fact) for fact in facts]
        bundle = Bundle(self.sent, encoded, Sent.by(origin), self._publications.current, self._publications.progress())
        waiting = self._waiting[bundle.number] = Acknowledgements(
            {peer: peer.may_answer_until for peer in (*peers, *self._lost)}, self._now
        )
        for peer in peers:
            self._send(peer, bundle)
        return waiting

    def say_farewell(self) -> None:
        """Tell all peers the number of the last bundle. This node commits nothing more.

        After an orderly stop of the children that publish, only turns that were cut off leave facts unpublished. Then,
        and if the datagram is lost, the peers read everything again.
        """
        if self._memory.has_published_all:
            for peer in self._peers():
                self._send(peer, Farewell(self.sent, self._publications.progress()))

    def _forget_waits(self, now: float) -> None:
        """Forget the oldest waits that are over."""
        while (oldest := next(iter(self._waiting), None)) is not None and self._waiting[oldest].is_over(now):
            del self._waiting[oldest]

    def take_acknowledgement(self, peer: Peer, body: Acknowledgement) -> None:
        if not peer.acknowledged < body.through <= self.sent:
            return
        for number in range(max(peer.acknowledged + 1, next(iter(self._waiting), self.sent)), body.through + 1):
            if (waiting := self._waiting.get(number)) is not None:
                waiting.acknowledge(peer)
        peer.acknowledged = body.through

    # The facts of other nodes -----------------------------------------------------------------------------------------

    def take_bundle(self, peer: Peer, bundle: Bundle) -> bool:
        """Take a bundle of another node. Return True if `apply` must be started, which applies what has come.

        A repeated bundle is acknowledged again.
        """
        if bundle.number <= peer.through:
            self._send(peer, Acknowledgement(peer.through))
            return False
        peer.bundles[bundle.number] = bundle
        if peer.is_applying or peer.through + 1 not in peer.bundles:
            return False
        peer.is_applying = True
        return True

    async def apply(self, peer: Peer) -> None:
        """Apply the bundles of another node in their order, up to the first that has not come, and acknowledge them.

        The facts of an account keep their order, also if their author did not wait for the acknowledgements.
        """
        try:
            while (bundle := peer.bundles.get(peer.through + 1)) is not None:
                try:
                    facts = [self._codec.decode(fact) for fact in bundle.facts]
                    with self._publications.foreign(peer.process, bundle.publication):
                        await self._memory.receive(facts, bundle.sent.origin)
                except Exception as error:  # of the database, of facts of another version, or a bug
                    await self.forget(f"facts of {peer.name} were not applied: {describe(error)}")
                peer.has_applied(bundle)
                self._publications.hear(peer.process, bundle.progress)
                self._send(peer, Acknowledgement(peer.through))
                if peer.bundles:  # after a pause there may be thousands, and most are applied without a wait
                    await trio.lowlevel.checkpoint()
        finally:
            peer.is_applying = False

    def lose(self, peer: Peer) -> Awaitable[None]:
        """Note that a node has ended. Read everything again, unless it has left in order: facts may be lost.

        From this call until then this node is not complete.
        """
        self._lost.append(peer)
        self._count_forgetting(1)
        return self._lose(peer)

    async def _lose(self, peer: Peer) -> None:
        try:
            highest = await self._insist(lambda: self._database.read(highest_id))
            if peer.farewell is not None and peer.has_told_all:
                self._publications.hear(peer.process, peer.farewell.progress)
            else:
                await self.forget(f"{peer.name} has ended")
            self._publications.leave(peer.process, highest)
        finally:
            self._count_forgetting(-1)

    async def forget(self, reason: str) -> None:
        """Drop all copies, and read them again. Until then this node is not complete."""
        self._record("node.reset", error=reason, decision="everything in memory is read again")
        self._count_forgetting(1)
        try:
            await self._insist(self._memory.forget)
        finally:
            self._count_forgetting(-1)

    def _count_forgetting(self, step: int) -> None:
        self.forgetting += step
        self._notice()

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call a function until PostgreSQL has answered."""
        while True:
            try:
                return await call()
            except StorageError:
                await trio.sleep(AGAIN)

    # Polls ------------------------------------------------------------------------------------------------------------

    def poll(self, peer: Peer) -> None:
        self._send(peer, PeerPoll(self._now()))

    def answer_poll(self, peer: Peer, poll: PeerPoll) -> None:
        """Tell a node the number of the last bundle that was sent to it. It is required once it may change rows."""
        now = self._now()
        if peer.complete_until > now:
            peer.is_required = True
        peer.answered_at = now
        self._send(peer, PollAnswer(poll.at, self.sent, peer.is_required, self._publications.progress()))

    def take_poll_answer(self, peer: Peer, answer: PollAnswer) -> bool:
        """Note up to when this node has all bundles of another node. Return True if bundles are lost: see `skip`."""
        peer.admits = peer.admits or answer.admits
        if peer.is_skipping:
            return False
        # The bundles before the first answer were sent before this node was known.
        is_first, peer.is_met = not peer.is_met, True
        lost = peer.hears(answer.at, answer.last, self._now())
        peer.is_skipping = lost or (is_first and answer.last > peer.through)
        if peer.through >= answer.last:  # else this node has not shown everything that the other node has logged
            self._publications.hear(peer.process, answer.progress)
        return peer.is_skipping

    async def skip(self, peer: Peer, last: int) -> None:
        """Read everything again, in place of the bundles up to `last` that have not come."""
        try:
            await self.forget(f"bundles {peer.through + 1} to {last} of {peer.name} are lost")
        finally:
            peer.is_skipping = False
        peer.skip_to(last)
        self._send(peer, Acknowledgement(peer.through))
        if not peer.is_applying and peer.through + 1 in peer.bundles:
            peer.is_applying = True
            await self.apply(peer)

"""A node of a cluster: its peers, the datagrams between them, and whether it may answer from memory.

A node begins in these steps. It writes its row (`membership.py`), so that the others know it. It polls them until each
has answered and admits it: they have heard from it too, and from then on miss none of its facts without noticing. Only
then it takes a share of the shards, and changes rows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import count
from typing import Protocol, TypeVarTuple, Unpack

import trio

from ...storage.engine.database import Database, Entering, Removed
from ...storage.engine.shards import SHARDS, shard_of
from ..broadcast.publications import Publications
from ..kernel import Address, Ids, Origin, Record, Runtime
from ..kernel.codec import Codec, Unreadable
from .bundles import Bundles, Memory
from .commands import Commands
from .counts import SharedCounts
from .membership import Member, Membership
from .peers import LeaseClock, Peer, lease_time
from .wire import (
    Acknowledgement,
    Body,
    Bundle,
    Counts,
    Farewell,
    NodeDatagram,
    PeerPoll,
    PollAnswer,
    SentAnswer,
    SentCommand,
    SentError,
    Withdrawal,
    decode,
    encode,
)

Ts = TypeVarTuple("Ts")

POLL_EVERY = 0.25  # seconds

JOINED_BEFORE = (
    "the node {name} was a member of the cluster before, and has missed facts of the other nodes since it ended: start"
    " it again"
)


class Transport(Protocol):
    """Carries datagrams to nodes by their names. It may lose, repeat and delay them, and so change their order."""

    def send(self, node: str, datagram: bytes) -> None:
        """Send a datagram without waiting."""
        ...


class OtherNodes:
    """The other nodes, for the parts of this one (`Others`), and the owners of accounts, for its runtime."""

    def __init__(
        self, membership: Membership, transport: Transport, database: Database, runtime: Runtime, codec: Codec,
        memory: Memory, publications: Publications, ids: Ids, record: Record, now: LeaseClock = lease_time,
        on_joined: Callable[[Member], None] = lambda member: None,
    ) -> None:  # fmt: skip
        self._on_joined = on_joined
        self._membership = membership
        self._transport = transport
        self._ids = ids
        self._record = record
        self._now = now
        self._publications = publications
        self._peers: dict[str, Peer] = {}
        self._incarnation = 0  # until it has joined
        self._has_joined = False
        self._was_complete = False
        self._observers: list[Callable[[], None]] = []
        self._nursery: trio.Nursery | None = None
        self._heard = trio.Event()  # set when a poll is answered, or a member has left
        self.bundles = Bundles(
            database, codec, memory, publications, self._send, self._peers.values, self._hear, record, now
        )
        self.commands = Commands(runtime, codec, self, self._send, self._peers.get)
        self.counts = SharedCounts(self._tell, self._peers.values, ids.now)
        self._runtime = runtime
        # Shards whose awake actors are being loaded again, with the number of the take.
        self._taken: dict[int, int] = {}
        self._takes = count(1)
        self._loaded: set[Address] = set()  # actors of these shards that have loaded before a command
        membership.observe(self._change_members)
        membership.observe_shards(self._take_shards)

    # Others -----------------------------------------------------------------------------------------------------------

    is_alone = False

    @property
    def is_complete(self) -> bool:
        now = self._now()
        return (
            self._has_joined
            and self._membership.is_current  # nodes that have joined after its removal send it no facts
            and not self.bundles.forgetting
            and all(peer.complete_until > now for peer in self._peers.values() if peer.is_required)
        )

    @property
    def is_leader(self) -> bool:
        return self._has_joined and self._membership.is_leader

    def owns(self, shard: int) -> bool:
        return self._membership.own.owns(shard)

    def took(self, shard: int) -> bool:
        return self._membership.own.took(shard)

    @property
    def taken(self) -> Sequence[Entering]:
        return self._membership.own.taken

    def settle(self, taken: Entering) -> None:
        self._membership.own.settle(taken)

    def send(self, facts: Sequence[object], origin: Origin) -> Awaitable[None] | None:
        return self.bundles.send(facts, origin)

    def observe(self, on_change: Callable[[], None]) -> None:
        self._observers.append(on_change)

    # The owners of accounts ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._membership.member.name

    def owner_of(self, shard: int) -> str | None:
        return self._membership.owner_of(shard)

    async def refresh(self) -> None:
        await self._membership.refresh()

    def inspect(self) -> dict[str, object]:
        """Return the other nodes, the number of the shards of this node, and if it answers from memory."""
        return {
            "nodes": sorted(self._peers), "shards": sum(map(self.owns, range(SHARDS))), "complete": self.is_complete,
        }  # fmt: skip

    # The life of this node -------------------------------------------------------------------------------------------

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Join the cluster, and be a part of it until `stopping`.

        Then the other nodes take the shards, while this node still answers: its commands come back to their askers, and
        are sent to the new owners. Those that it has begun are answered before it leaves. It says farewell, so that the
        others need not read everything again.

        A process joins once. After a crash of this child, or of a child before it, Removed ends the process: what it
        has in memory has missed the facts of the other nodes since, and they know its former incarnation.
        """
        if self._incarnation:
            raise Removed(JOINED_BEFORE.format(name=self.name))
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            try:
                member = await self._membership.join()
                self._on_joined(member)
                self._ids.use(member.number)
                self._publications.incarnation = self._incarnation = member.incarnation
                nursery.start_soon(self._membership.run, trio.Event())  # until this node has left
                nursery.start_soon(self._poll)
                while not self._is_admitted:
                    await self._heard.wait()
                self._has_joined = True
                await self._membership.take_share()
                self._notice()
                task_status.started()
                await stopping.wait()
                await self._membership.drain()
                await self.commands.finish()
                self.bundles.say_farewell()
                await self._membership.leave()
                nursery.cancel_scope.cancel()
            finally:
                self._nursery, self._has_joined = None, False  # datagrams that still arrive start nothing

    @property
    def _is_admitted(self) -> bool:
        """True if this node and all others hear from each other."""
        now = self._now()
        return not self.bundles.forgetting and all(
            peer.admits and peer.complete_until > now for peer in self._peers.values()
        )

    def _hear(self) -> None:
        self._heard.set()
        self._heard = trio.Event()
        self._notice()

    async def _poll(self) -> None:
        while True:
            for peer in list(self._peers.values()):
                self.bundles.poll(peer)
            self.counts.poll()
            self._notice()
            await trio.sleep(POLL_EVERY)

    def _notice(self) -> None:
        """Call the observers if this node has become complete, or is so no longer."""
        if self._was_complete != self.is_complete:
            self._was_complete = not self._was_complete
            self._record("node.complete" if self._was_complete else "node.incomplete")
            for observer in self._observers:
                observer()

    def _change_members(self, joined: Iterable[Member], left: Iterable[Member]) -> None:
        for member in left:
            self._lose(self._peers.pop(member.name))
        for member in joined:
            peer = self._peers[member.name] = Peer(member.name, member.incarnation, is_required=not self._has_joined)
            self._publications.join(peer.process)
            self.counts.hurry()

    def _take_shards(self, shards: Collection[int]) -> None:
        """Load the awake actors of accounts and lists again: until now they have followed the facts of their owner.

        The former owner may have committed facts that it has not sent. Each actor loads before its next command, and
        the others in a task, because there may be 100,000.
        """
        is_loading = bool(self._taken)
        self._taken |= dict.fromkeys(shards, next(self._takes))
        self._loaded.clear()
        if not is_loading:
            self._start(self._load_taken)

    def load_before(self, address: Address, account: int) -> None:
        if self._taken and shard_of(account) in self._taken and address not in self._loaded:
            self._loaded.add(address)
            self._runtime.resync(address)

    async def _load_taken(self) -> None:
        """Load all awake actors of taken shards again. Which lists are of these is not known by their addresses."""
        while self._taken:
            taken = self._taken.copy()
            for kind in ("account", "list"):
                for cells in self._runtime.awake_in_slices(kind):
                    for cell in cells:
                        address = cell.address
                        if address not in self._loaded and (kind == "list" or shard_of(address.key) in taken):
                            self._runtime.resync(address)
                    await trio.lowlevel.checkpoint()
            self._taken = {shard: take for shard, take in self._taken.items() if taken.get(shard) != take}
        self._loaded.clear()

    def _lose(self, peer: Peer) -> None:
        """Note that a process has ended. Unless it has left in order, the facts of its last changes may be lost."""
        self.commands.lose(peer)
        self._start(self.bundles.lose, peer)
        self._hear()

    # Datagrams --------------------------------------------------------------------------------------------------------

    def receive(self, sender: str, data: bytes) -> None:
        """Take a datagram. The transport calls this.

        A datagram of a process whose row is not known is ignored: it was removed, or its row will be read in a moment.
        """
        try:
            datagram = decode(data)
        except Unreadable as error:
            self._record("node.unreadable", node=sender, error=error, decision="ignored")
            return
        peer = self._peers.get(sender)
        if peer is None or (datagram.sender, datagram.to) != (peer.incarnation, self._incarnation):
            return
        self._ids.witness(datagram.id)
        self._take(peer, datagram.body)

    def _take(self, peer: Peer, body: Body) -> None:
        match body:
            case Bundle():
                if self.bundles.take_bundle(peer, body):
                    self._start(self.bundles.apply, peer)
            case Acknowledgement():
                self.bundles.take_acknowledgement(peer, body)
            case Farewell():
                peer.farewell = body
            case SentCommand():
                self._start(self.commands.take_command, peer, body)
            case SentAnswer():
                self.commands.take_answer(peer, body)
            case SentError():
                self.commands.take_error(peer, body)
            case Withdrawal():
                self.commands.withdraw(peer, body)
            case PeerPoll():
                self.bundles.answer_poll(peer, body)
            case PollAnswer():
                self._notice()  # if the last answer is no longer valid, before this answer is
                if self.bundles.take_poll_answer(peer, body):
                    self._start(self.bundles.skip, peer, body.last)
                self._hear()
            case Counts():
                self.counts.hear(peer.process, f"{self.name}/{self._incarnation}", body)

    def _start(self, function: Callable[[Unpack[Ts]], Awaitable[object]], *args: *Ts) -> None:
        """Start a task of this node, unless the node is ending: datagrams still arrive then."""
        if self._nursery is not None and not self._nursery.cancel_scope.cancel_called:
            self._nursery.start_soon(function, *args)

    def _tell(self, body: Body) -> None:
        """Send a datagram to all other nodes."""
        for peer in self._peers.values():
            self._send(peer, body)

    def _send(self, peer: Peer, body: Body) -> None:
        datagram = NodeDatagram(self._incarnation, peer.incarnation, self._ids.next(), body)
        self._transport.send(peer.name, encode(datagram))

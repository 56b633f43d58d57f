"""The membership of this node in its cluster: the child that beats, watches the other nodes, and takes shards.

A node joins, hears all other nodes, and only then takes its share of the shards. From then on it raises its beat every
`BEAT` seconds, and reads the rows of all nodes in the same statement. A node whose beat has not changed for `LEASE`
seconds is removed by the first observer whose transaction commits. The observer takes its shards, and the other nodes
then take their shares of them. A node that drains keeps beating until the others have taken its shards.

What this node has read may be half a second old, or older if it was frozen. That does no harm: each transaction
compares the epoch of its shard (`storage/engine/shards.py`), or finds the row of the node (`storage/engine/nodes.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from typing import TypeVar

import trio

from ...storage import outbox
from ...storage.engine import nodes
from ...storage.engine.database import Connection, Database, Doubtful, Removed, Unavailable, lone_exception
from ...storage.engine.nodes import UNREAD, ClusterRows, Joined, NodeRow, ShardRow
from ...storage.engine.shards import SHARDS, Epochs, fair_share
from .peers import DRIFT, LeaseClock, lease_time

T = TypeVar("T")

#: Seconds between two beats. A beat is one statement.
BEAT = 0.5

#: Seconds without a new beat after which a node is dead. A pause of a process, or of PostgreSQL, is usually shorter.
LEASE = 3.0

# Seconds between two beats of this node after which it was frozen, or cut off from PostgreSQL. It can't know then for
# how long the beats of the others have stood still: perhaps PostgreSQL was away for all.
LATE = 3 * BEAT

HIGHEST_ID = (1 << 63) - 1

REMOVED = (
    "the other nodes have removed this node from the cluster, because it was silent for {seconds:g} seconds,"
    " or another process has joined as {name}"
)


@dataclass(frozen=True, slots=True)
class Member:
    """A node of the cluster: a process with a name. `number` is in its ids."""

    name: str
    incarnation: int
    number: int


@dataclass(frozen=True, slots=True)
class SeenBeat:
    """A row whose beat stands still, by the clock of this node: it was read first at `since`, last at `until`."""

    row: NodeRow
    since: float
    until: float


# Called with the nodes that have joined, and with those that have left.
OnChange = Callable[[Collection[Member], Collection[Member]], object]
# Called with the shards that this node has taken, before it handles a command of theirs.
OnTaken = Callable[[Collection[int]], object]


class Membership:
    """The nodes of the cluster and the owners of all shards, as this node has last read them."""

    def __init__(self, database: Database, name: str, now: LeaseClock = lease_time) -> None:
        self.own = Epochs({})
        self.members: Mapping[str, Member] = {}  # the living nodes, without this node
        self._database = database
        self._name = name
        self._now = now
        self._member: Member | None = None
        self._rows: Mapping[str, NodeRow] = {}  # of all nodes
        self._gone: set[int] = set()  # incarnations that have left
        self._shards = [ShardRow(shard, None, -1) for shard in range(SHARDS)]
        self._version = UNREAD
        self._observers: list[OnChange] = []
        self._takers: list[OnTaken] = []
        self._beats: dict[int, SeenBeat] = {}  # by incarnation
        self._reading = trio.Lock()  # so that no older rows are applied after newer rows
        self._begun = 0  # the number of the last read of rows
        self._done = 0  # the number of the last read that was answered
        self._last_beat = -inf  # when it was sent
        self._changed = trio.Event()
        self._may_take_at = -inf
        self._leaving = False
        self._left = trio.Event()

    # What the rest of the room sees

    @property
    def member(self) -> Member:
        """This node. It must have joined."""
        if self._member is None:
            raise LookupError(f"the node {self._name} has not joined")
        return self._member

    def owner_of(self, shard: int) -> str | None:
        """Return the name of the owner of a shard. None if the shard is free."""
        return self._shards[shard].node

    @property
    def is_leader(self) -> bool:
        """True if this node has the lowest number of all active nodes, and the others can't have removed it."""
        active = [row for row in self._rows.values() if row.is_active]
        return self.is_current and bool(active) and min(active, key=lambda row: row.number).name == self._name

    @property
    def is_current(self) -> bool:
        """True if this node is in the cluster: it has beaten so lately that no other node can have removed it yet."""
        return not self._leaving and self._now() - self._last_beat < LEASE * (1 - DRIFT)

    def observe(self, on_change: OnChange) -> None:
        """Call a function with the nodes that have joined and left, whenever `members` has changed."""
        self._observers.append(on_change)

    def observe_shards(self, on_taken: OnTaken) -> None:
        """Call a function with the shards that this node takes."""
        self._takers.append(on_taken)

    # Joining and leaving

    async def join(self) -> Member:
        """Join the cluster: insert the row of this node, and read those of the others. It takes no shards yet.

        From then on each transaction of this process finds the row, or is refused.
        """
        self.own.incarnation = None
        before = await self._insist(lambda: self._database.read(nodes.find, self._name))
        if before is not None:
            await self._insist(lambda: self._database.read(nodes.end_connections, self._name, before.incarnation))
        joined = await self._insist(lambda: self._database.transact(self._join))
        if joined.replaced is not None:  # that process may answer from memory until its last beat is too old
            self._may_take_at = self._now() + LEASE
        self._member = Member(self._name, joined.incarnation, joined.number)
        self.own.incarnation = joined.incarnation
        await self._insist(self._beat)
        return self._member

    async def take_share(self) -> None:
        """Take the fair share of the shards, once all other nodes are heard. Until then this node takes none."""
        await trio.sleep(max(self._may_take_at - self._now(), 0.0))
        await self._insist(self._take)
        await self._insist(self.refresh)

    async def drain(self) -> None:
        """Let the other nodes take all shards of this node, while `run` runs.

        It does not wait if no other node takes shards.
        """
        if not await self._insist(lambda: self._database.transact(nodes.drain, *self._own)):
            raise self._removed()
        await self._insist(self.refresh)
        while self._has_shards and any(row.is_active for row in self._rows.values()):
            await self._changed.wait()

    async def leave(self) -> None:
        """Leave the cluster. The shards of this node are free. `run` ends."""
        self._leaving = True
        with self._leaves():
            await self._insist(lambda: self._database.transact(self._leave))
        self._lose_all()
        self._left.set()

    async def run(self, stopping: trio.Event) -> None:
        """Beat until `stopping`, or until this node has left. Raises Removed if another node has removed it."""
        with lone_exception():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._beat_for_ever)
                nursery.start_soon(self._settle_for_ever)
                nursery.start_soon(_cancel_after, self._left, nursery.cancel_scope)
                await stopping.wait()
                nursery.cancel_scope.cancel()

    async def refresh(self) -> None:
        """Read all nodes and owners now. Calls at the same time share a read."""
        wanted = self._begun + 1
        async with self._reading:
            if self._done < wanted:
                with self._leaves():
                    await self._apply(self._database.read(nodes.read, *self._own, self._version))

    # Beats

    async def _beat_for_ever(self) -> None:
        while not self._leaving:
            await trio.sleep(BEAT)
            if not self._leaving:
                await self._try(self._beat)

    async def _beat(self) -> None:
        async with self._reading:
            sent = self._now()
            rows = await self._apply(self._database.transact_checked(nodes.beat, *self._own, self._version))
            self._watch(rows, sent)
            self._last_beat = sent

    def _watch(self, rows: ClusterRows, sent: float) -> None:
        """Note the beats of the other nodes. A read was sent at `sent`, and its rows are not older."""
        seen = {} if sent - self._last_beat > LATE else self._beats
        now = self._now()
        self._beats = {}
        for row in rows.nodes:
            before = seen.get(row.incarnation)
            if before is None or before.row.beat != row.beat:
                before = SeenBeat(row, now, sent)
            self._beats[row.incarnation] = SeenBeat(before.row, before.since, sent)

    def _silent(self) -> list[NodeRow]:
        """Return the other nodes whose beat has not changed for `LEASE` seconds."""
        return [
            seen.row
            for incarnation, seen in self._beats.items()
            if seen.until - seen.since >= LEASE and incarnation != self.member.incarnation
        ]

    # Deaths, and shares of the shards

    async def _settle_for_ever(self) -> None:
        """Remove dead nodes and take shards: apart from the beats, because a take waits for transactions of owners."""
        while True:
            await self._changed.wait()
            for row in self._silent():
                await self._try(lambda row=row: self._remove(row))
            if self._lacks_shards:
                await self._try(self._take)

    async def _remove(self, silent: NodeRow) -> None:
        await self._database.read(nodes.end_connections, silent.name, silent.incarnation)
        taken = await self._database.transact(self._remove_in, silent)
        if taken is None:
            return
        self._apply_shards(taken)
        self._gone.add(silent.incarnation)
        self._apply_nodes([row for row in self._rows.values() if row.incarnation != silent.incarnation])

    async def _take(self) -> None:
        taken = await self._database.transact(nodes.take_share, *self._own)
        if taken is None:
            raise self._removed()
        self._apply_shards(taken)

    # Rows

    async def _join(self, db: Connection) -> Joined:
        joined = await nodes.join(db, self._name)
        if joined.replaced is not None:
            await _release_claims(db, joined.replaced.number)
        return joined

    async def _remove_in(self, db: Connection, silent: NodeRow) -> list[ShardRow] | None:
        taken = await nodes.remove(db, silent, *self._own)
        if taken is not None:
            await _release_claims(db, silent.number)
        return taken

    async def _leave(self, db: Connection) -> None:
        await take_out(db, *self._own, self.member.number)

    async def _apply(self, read: Awaitable[ClusterRows | None]) -> ClusterRows:
        """Read the rows of all nodes, and apply them. Only one task at a time reads."""
        self._begun += 1
        rows = await read
        if rows is None:
            raise self._removed()
        self._done = self._begun
        self._version = rows.version
        self._apply_shards(rows.shards)
        self._apply_nodes(rows.nodes)
        self._wake()
        return rows

    def _apply_nodes(self, rows: Iterable[NodeRow]) -> None:
        self._rows = {row.name: row for row in rows if row.incarnation not in self._gone}
        others = [row for row in self._rows.values() if row.name != self._name]
        before = self.members
        self.members = {row.name: _member_of(row) for row in others}
        joined = [member for name, member in self.members.items() if before.get(name) != member]
        left = [member for name, member in before.items() if self.members.get(name) != member]
        self._gone.update(member.incarnation for member in left)
        if joined or left:
            for on_change in self._observers:
                on_change(joined, left)

    def _apply_shards(self, rows: Iterable[ShardRow]) -> None:
        """Apply owners that are newer than those known. A shard that becomes free may keep its epoch."""
        taken: list[int] = []
        for row in rows:
            known = self._shards[row.shard]
            if (row.epoch, row.node is None) <= (known.epoch, known.node is None):
                continue
            self._shards[row.shard] = row
            if row.node == self._name:
                self.own.put(row.shard, row.epoch)
                taken.append(row.shard)
            elif self.own.owns(row.shard):
                self.own.lose(row.shard)
        if taken:
            for on_taken in self._takers:
                on_taken(taken)

    @property
    def _own(self) -> tuple[str, int]:
        return self._name, self.member.incarnation

    @property
    def _has_shards(self) -> bool:
        return any(self.own.owns(shard) for shard in range(SHARDS))

    @property
    def _lacks_shards(self) -> bool:
        active = [row.name for row in self._rows.values() if row.is_active]
        return bool(fair_share(self._name, [row.node for row in self._shards], active))

    def _lose_all(self) -> None:
        self._rows = {}
        for shard in range(SHARDS):
            self.own.lose(shard)
        self._wake()

    def _wake(self) -> None:
        """Wake the tasks that wait for a change of the rows."""
        self._changed.set()
        self._changed = trio.Event()

    def _removed(self) -> Removed:
        self._lose_all()
        return Removed(REMOVED.format(seconds=LEASE, name=self._name))

    # Calls of PostgreSQL. The pool reports its refusals.

    async def _try(self, call: Callable[[], Awaitable[object]]) -> None:
        """Call a function that is called again after the next beat."""
        with suppress(Unavailable, Doubtful), self._leaves():
            await call()

    @contextmanager
    def _leaves(self) -> Generator[None]:
        """A node that leaves has no row in the end, and was not removed."""
        try:
            yield
        except Removed:
            if not self._leaving:
                raise

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call a function until PostgreSQL has answered."""
        while True:
            try:
                return await call()
            except (Unavailable, Doubtful):
                await trio.sleep(BEAT)


def _member_of(row: NodeRow) -> Member:
    return Member(row.name, row.incarnation, row.number)


async def take_out(db: Connection, name: str, incarnation: int, number: int) -> None:
    """Delete the row of a node, if it has one. Its shards and its claims are free."""
    if await nodes.leave(db, name, incarnation):
        await _release_claims(db, number)


async def _release_claims(db: Connection, number: int) -> None:
    """Release the claims of a node in the transaction that deletes its row. Until then no other node has its number."""
    await outbox.release_of(db, number, HIGHEST_ID)


async def _cancel_after(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()

"""Nodes of a cluster without their servers: the membership of each, over one database.

A node here only joins, beats, and takes shards, and reads the rows between its beats. The claims of all scenarios: the
epoch of a shard never falls; of the processes that believe to own a shard at most one has the epoch that PostgreSQL
admits; no process takes a shard of its own for lost; and a process that was seen to leave never joins again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial

import trio

from ....actors.cluster.membership import BEAT, Member, Membership
from ....storage.engine.database import Removed, Unavailable
from ....storage.engine.shards import SHARDS, Epochs
from ..lockstep import LockstepDatabase
from ..run import Broken, Eventually, Run
from .postgres import sandbox

LONGEST_STORM = 60.0  # virtual seconds in which all nodes have settled after the last fault

EPOCHS = "SELECT array_agg(epoch ORDER BY shard) AS epochs FROM shards"
SHARD_ROWS = "SELECT node, epoch FROM shards ORDER BY shard"


@asynccontextmanager
async def memberships(run: Run) -> AsyncGenerator[Memberships]:
    """The world of a scenario about membership: a cluster without nodes."""
    run.postgres = sandbox
    async with trio.open_nursery() as nursery:
        yield Memberships(run, nursery)
        nursery.cancel_scope.cancel()


class Memberships:
    """The nodes of a run, by their names."""

    def __init__(self, run: Run, nursery: trio.Nursery) -> None:
        self.run = run
        self.database = run.database
        self.running: dict[str, Membership] = {}
        self.removed: list[str] = []  # nodes that have stopped because the others had removed them
        self.suspended = defaultdict[str, float](float)  # seconds for which the machine of a node was suspended
        self._nursery = nursery
        self._tasks: dict[str, trio.Nursery] = {}
        claims = ShardClaims(self.database, lambda: (node.own for node in self.running.values()))
        run.always(claims.check, "the epochs of shards are right")

    async def start(self, name: str) -> None:
        """Start a process, and wait until it has joined or has ended. If it runs, kill it first."""
        self.kill(name)
        self.run.add_label(f"{name} ")
        started = trio.Event()
        self._nursery.start_soon(self._live, name, started, name=f"{name} node")
        await started.wait()

    def go(self, name: str, function: Callable[[], Awaitable[object]]) -> None:
        """Start a function in a task of a running node."""
        self._tasks[name].start_soon(function, name=f"{name} {function.__name__}")

    def drain(self, name: str) -> None:
        """Stop a process in order: it gives its shards away, and leaves."""
        node = self.running[name]

        async def drain() -> None:
            await node.drain()
            await node.leave()

        self.go(name, drain)

    def _lease_time(self, name: str) -> float:
        return trio.current_time() + self.suspended[name]

    def kill(self, name: str) -> None:
        """End a process, also if it is frozen. The others are not told."""
        self.run.thaw(f"{name} ")
        self.running.pop(name, None)
        if tasks := self._tasks.pop(name, None):
            tasks.cancel_scope.cancel("the node is killed")

    async def settled(self) -> None:
        """Wait until the running nodes know each other and no others, and have equal shares of the shards."""
        await Eventually(self._is_settled, "all nodes have settled", within=LONGEST_STORM).wait_until_true()

    def _is_settled(self) -> bool:
        rows = self.database.rows(SHARD_ROWS)
        shares = Counter(row["node"] for row in rows)
        return (
            shares.keys() == self.running.keys()
            and max(shares.values()) - min(shares.values()) <= 1
            and sum(node.is_leader for node in self.running.values()) == 1
            and all(
                {*node.members.values()} == {other.member for other in self.running.values() if other is not node}
                and all(node.owner_of(shard) == row["node"] for shard, row in enumerate(rows))
                and [*node.own] == [row["epoch"] if row["node"] == name else -1 for row in rows]
                for name, node in self.running.items()
            )
        )

    async def _live(self, name: str, started: trio.Event) -> None:
        database = LockstepDatabase(sandbox(), self.run.faults, self.run.note, f"{name} ")
        node = Membership(database, name, partial(self._lease_time, name))
        node.own = WatchedEpochs(self, name)
        node.observe(partial(_check_change, set[Member]()))
        reading = trio.CancelScope()
        try:
            async with trio.open_nursery() as nursery:
                self._tasks[name] = nursery
                await node.join()
                self.running[name] = node
                started.set()
                async with trio.open_nursery() as life:
                    life.start_soon(node.run, trio.Event())
                    nursery.start_soon(_read_often, node, reading)
                    await node.take_share()
                reading.cancel("the node has left")
        except* Removed:
            self.removed.append(name)
        finally:
            started.set()
        if self.running.get(name) is node:
            del self.running[name]


class ShardClaims:
    """The claims about the epochs of shards, in all processes of a run. `owned` returns the epochs of each process."""

    def __init__(self, database: LockstepDatabase, owned: Callable[[], Iterable[Epochs]]) -> None:
        self._database = database
        self._owned = owned
        self._epochs = [0] * SHARDS  # as committed
        self._checked = 0  # transactions
        self._wrong: str | None = None

    def check(self) -> None:
        """Raise an error if an epoch has fallen, if two processes have a shard in its epoch, or for a wrong commit."""
        if self._wrong is not None:
            raise Broken(self._wrong)
        if self._checked == self._database.transactions:
            return
        self._checked = self._database.transactions
        epochs = self._database.rows(EPOCHS)[0]["epochs"]
        if any(now < before for now, before in zip(epochs, self._epochs, strict=True)):
            raise Broken("the epoch of a shard has fallen")
        self._epochs = epochs
        owners = Counter(
            shard
            for own in self._owned()
            for shard, (held, epoch) in enumerate(zip(own, epochs, strict=True))
            if held == epoch
        )
        if max(owners.values(), default=0) > 1:
            raise Broken("two processes own a shard")

    def check_commit(self, shard: int, epoch: int) -> None:
        """Note an error if a transaction commits in an epoch that is over."""
        if epoch < self._epochs[shard]:
            self._wrong = f"a transaction of epoch {epoch} of shard {shard} commits in epoch {self._epochs[shard]}"


class WatchedEpochs(Epochs):
    """The epochs of a node, which loses no shard that PostgreSQL says it owns."""

    def __init__(self, world: Memberships, name: str) -> None:
        super().__init__({})
        self._world = world
        self._name = name

    def lose(self, shard: int) -> None:
        row = self._world.database.rows(SHARD_ROWS)[shard]
        if (row["node"], row["epoch"]) == (self._name, self.entering(shard)[1]):
            raise Broken(f"{self._name} takes its shard {shard} for lost")
        super().lose(shard)


def _check_change(gone: set[Member], joined: Collection[Member], left: Collection[Member]) -> None:
    if again := gone.intersection(joined):
        raise Broken(f"a process that has left joins again: {again}")
    gone.update(left)


async def _read_often(node: Membership, scope: trio.CancelScope) -> None:
    """Read the rows at the times of beats, so that the answers of reads and of takes overlap."""
    with scope:
        while True:
            with suppress(Unavailable):
                await node.refresh()
            await trio.sleep(BEAT)

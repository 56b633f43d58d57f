"""The database as a child of the tree: this node's term, and the connections that carry it.

`shared` is for a node of a cluster. `revive` starts the embedded PostgreSQL when it has ended; it blocks, and does
nothing while PostgreSQL runs. `prepare` is called at each start of the child, before the database is used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import trio

from ...actors.kernel import Clock, Ids, Record
from ...storage.engine.cluster import EmbeddedFailed
from ...storage.engine.database import Connection, Database, Doubtful, Entering, Fenced, Unavailable
from ...storage.engine.migrate import Migration
from ...storage.engine.pool import ConnectionPool, open_pool
from ...storage.engine.pool_numbers import PoolNumbers
from ...storage.engine.server_facts import started_at
from ...storage.engine.shards import Epochs
from ...storage.engine.term import Requirement, Term, hold_term
from ...storage.upkeep.highest import highest_id
from ..refusals import Refusals

REVIVAL = 1.0  # seconds between two checks that PostgreSQL is back

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PoolUse:
    """The numbers of open connections, of busy connections, and of calls that wait for a connection."""

    connected: int = 0
    busy: int = 0
    waiting: int = 0


class SupervisedDatabase:
    """The Database that all rooms hold. Behind it is the current pool, or none while it restarts."""

    def __init__(
        self,
        dsn: str,
        *,
        node: str,
        size: int,
        takeover: bool,
        ids: Ids,
        clock: Clock,
        record: Record,
        on_notice: Callable[[str | None], None],
        revive: Callable[[], None] | None = None,
        require: Requirement | None = None,
        prepare: Callable[[Database], Awaitable[None]] | None = None,
        traced: Callable[[Database], Database] | None = None,
        shared: bool = False,
    ) -> None:
        #: The epochs of the shards that this node of a cluster owns. None if this server is alone.
        self.own: Epochs | None = None
        self._shared = shared
        self._dsn = dsn
        self._node = node
        self._size = size
        self._takeover = takeover
        self._ids = ids
        self._record = record
        self._on_notice = on_notice
        self._revive = revive
        self._refusals = Refusals(record, clock)
        self._require = require
        self._prepare = prepare
        self._traced = traced
        self._calls: Database | None = None  # the pool, or its wrapper that traces calls
        self._term: Term | None = None
        self._started_at: datetime | None = None
        self._pool: ConnectionPool | None = None
        self.numbers = PoolNumbers()
        self._lost = trio.Event()

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._noting():
            return await self._standing().transact(work, *args, **kwargs)

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._noting():
            return await self._standing().transact_in(shard, work, *args, **kwargs)

    def entering(self, shard: int) -> Entering:
        return self._standing().entering(shard)

    async def transact_alone(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._noting():
            return await self._standing().transact_alone(work, *args, **kwargs)

    async def transact_checked(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._noting():
            return await self._standing().transact_checked(work, *args, **kwargs)

    @contextmanager
    def _noting(self) -> Generator[None]:
        """Note if a transaction is refused or committed."""
        try:
            yield
        except (Unavailable, Doubtful) as error:
            self._refusals.refused(error)
            raise
        self._refusals.committed()

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        try:
            return await self._standing().read(work, *args, **kwargs)
        except (Unavailable, Doubtful) as error:
            self._refusals.refused(error)
            raise

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Hold the term and the connections until `stopping`. Raises Fenced when another node takes over."""
        async with (
            hold_term(
                self._dsn, node=self._node, takeover=self._takeover, shared=self._shared, on_notice=self._on_notice,
                on_migrated=self._migrated, require=self._require,
            ) as term,
            open_pool(
                self._dsn, size=self._size, application_name=term.application_name, check=partial(self._check, term),
                epochs=self.own or term.epochs, on_connected=self._report, on_lost=self._lost_one, numbers=self.numbers,
            ) as pool,
            trio.open_nursery() as nursery,
        ):  # fmt: skip
            self._begun(term)
            self._ids.witness(await pool.read(highest_id))
            if self._prepare is not None:
                await self._prepare(pool)
            self._pool = pool
            self._calls = pool if self._traced is None else self._traced(pool)
            try:
                task_status.started()
                nursery.start_soon(_raise_when_lost, term)
                nursery.start_soon(_raise_when_fenced, pool)
                if self._revive is not None:
                    nursery.start_soon(self._keep_alive, pool, self._revive)
                await stopping.wait()
            finally:
                self._pool = self._calls = None
            nursery.cancel_scope.cancel()

    def refusing(self) -> str:
        """Return why calls were refused in the last minute; empty if none was."""
        return self._refusals.of_the_last_minute()

    def inspect(self) -> dict[str, object]:
        """Return the state of the pool and of the current fault for operators."""
        use = self.use()
        return {"connections": use.connected, "waiting": use.waiting} | self._refusals.inspect()

    def use(self) -> PoolUse:
        """Return the use of the pool at this moment; zeros while it restarts."""
        pool = self._pool
        return PoolUse(pool.connected, pool.busy, pool.waiting) if pool else PoolUse()

    def epochs(self) -> list[int]:
        """Return the epochs in which this process owns the shards of accounts; empty while it restarts."""
        return [*(self.own or self._term.epochs)] if self._term and self._pool else []

    @property
    def has_joined(self) -> bool:
        """True if other nodes of the cluster hold the term too, and held it before this node."""
        return self._term is not None and self._term.joined

    def rename(self, application_name: str) -> None:
        """Rename the connections of this node: other nodes end them by their name, if they remove this node."""
        if self._pool is not None:
            self._pool.rename(application_name)

    @property
    def predecessor(self) -> str:
        """The node from which this node took over; empty if there is none."""
        return str(self._term.predecessor or "") if self._term else ""

    @property
    def has_begun(self) -> bool:
        """True if this process has begun a term, which ends that of another server."""
        return self._term is not None

    def _begun(self, term: Term) -> None:
        self._term = term
        if term.predecessor:
            self._record("node.takeover", node=str(term.predecessor), decision="the other server can write no more")

    def _migrated(self, step: Migration) -> None:
        self._record("migration.applied", address=f"{step.number:04} {step.name}")

    async def _check(self, term: Term, db: Connection) -> None:
        """Check each new connection: the term must still hold, and PostgreSQL may have been restarted."""
        await term.check(db)
        before, self._started_at = self._started_at, await started_at(db)
        if before not in (None, self._started_at):
            self._record("storage.restarted")

    def _standing(self) -> Database:
        if self._calls is None:
            raise Unavailable("the database is being restarted")
        return self._calls

    async def _keep_alive(self, pool: ConnectionPool, revive: Callable[[], None]) -> None:
        """Start the embedded PostgreSQL again when it ends. An external PostgreSQL is its operator's task."""
        while True:
            await self._lost.wait()
            self._lost = trio.Event()
            while not pool.connected:
                await trio.to_thread.run_sync(self._try, revive)
                await trio.sleep(REVIVAL)

    def _try(self, revive: Callable[[], None]) -> None:
        try:
            revive()
        except (EmbeddedFailed, OSError) as error:
            self._record("storage.lost", error=error, decision="start it again")

    def _report(self, connected: bool, cause: BaseException | None) -> None:
        if not connected:
            self._lost.set()
            self._record("storage.lost", error=cause, decision="requests get 503 until it is back")
        elif self._pool is not None:
            self._record("storage.back")

    def _lost_one(self, cause: BaseException | None) -> None:
        self._record(
            "connection.lost", error=cause or "PostgreSQL closed it while it was idle", decision="open another one"
        )


async def _raise_when_lost(term: Term) -> None:
    await term.lost.wait()
    raise term.reason or Fenced("another node holds the term")


async def _raise_when_fenced(pool: ConnectionPool) -> None:
    await pool.fenced.wait()
    await pool.read(highest_id)  # it has the cause by now

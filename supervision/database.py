"""The database as a child of the tree: this node's term and the connections that carry it.

`revive` starts PostgreSQL when it is ours and has died; it blocks, and does nothing when PostgreSQL runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

import trio

from ..actors.kernel import Ids, Record
from ..storage.embedded import EmbeddedFailed
from ..storage.engine import Connection, Fenced, Unavailable
from ..storage.highest import highest_id
from ..storage.pool import Pool, open_pool
from ..storage.term import hold_term

REVIVAL = 1.0  # seconds between two looks whether PostgreSQL is back

P = ParamSpec("P")
T = TypeVar("T")


class SupervisedDatabase:
    """The Database that everybody holds; behind it the pool of the moment, or none while it restarts."""

    def __init__(
        self,
        dsn: str,
        *,
        size: int,
        takeover: bool,
        ids: Ids,
        record: Record,
        on_notice: Callable[[str | None], None],
        revive: Callable[[], None] | None = None,
    ) -> None:
        self._dsn = dsn
        self._size = size
        self._takeover = takeover
        self._ids = ids
        self._record = record
        self._on_notice = on_notice
        self._revive = revive
        self._pool: Pool | None = None
        self._lost = trio.Event()

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._standing().transact(work, *args, **kwargs)

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._standing().read(work, *args, **kwargs)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Hold the term and the connections until `stopping`. Raises Fenced when another node takes over."""
        async with (
            hold_term(self._dsn, takeover=self._takeover, on_notice=self._on_notice) as term,
            open_pool(
                self._dsn, size=self._size, application_name=term.application_name, check=term.check,
                on_connected=self._report,
            ) as pool,
            trio.open_nursery() as nursery,
        ):  # fmt: skip
            self._ids.start_above(await pool.read(highest_id))
            self._pool = pool
            try:
                task_status.started()
                nursery.start_soon(_raise_when, term.lost)
                nursery.start_soon(_raise_when, pool.fenced)
                if self._revive is not None:
                    nursery.start_soon(self._keep_alive, pool, self._revive)
                await stopping.wait()
            finally:
                self._pool = None
            nursery.cancel_scope.cancel()

    def inspect(self) -> dict[str, object]:
        """What an operator sees."""
        pool = self._pool
        return {"connections": pool.connected if pool else 0, "waiting": pool.waiting if pool else 0}

    def _standing(self) -> Pool:
        if self._pool is None:
            raise Unavailable("the database is being restarted")
        return self._pool

    async def _keep_alive(self, pool: Pool, revive: Callable[[], None]) -> None:
        """Start our own PostgreSQL again when it dies; an outer one is its operator's."""
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

    def _report(self, connected: bool) -> None:
        if connected and self._pool is not None:
            self._record("storage.back")
        elif not connected:
            self._lost.set()
            self._record("storage.lost", decision="requests get 503 until it is back")


async def _raise_when(lost: trio.Event) -> None:
    await lost.wait()
    raise Fenced("another node holds the term")

"""The server-wide blocks in memory: there are few, and each request asks for some of them.

The turn that changes a block reads all of them again before it answers. Changes by other programs come as notices.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import trio

from ..storage import allowed_domains, blocked_domains, blocked_networks
from ..storage.engine.database import Connection, Database, StorageError
from .rules.domains import DomainRules
from .rules.networks import NetworkRules

NOTICE = "blocks"
RETRY = 1.0  # seconds until rows that could not be read are read again


class ServerBlocks:
    """The blocks as the rows have them, and the child that reads them."""

    def __init__(self, database: Database, *, limited: bool = False) -> None:
        """With `limited`, all domains are suspended that are not allowed."""
        self._database = database
        self._limited = limited
        self._reading = trio.Lock()
        self._changed = trio.Event()
        self._observers: list[Callable[[], None]] = []
        self.domains = DomainRules(allowed=() if limited else None)
        self.networks = NetworkRules()

    def observe(self, read: Callable[[], None]) -> None:
        """Have a function called whenever the blocks were read."""
        self._observers.append(read)

    def wake(self) -> None:
        """Read the rows again."""
        self._changed.set()

    async def reload(self) -> None:
        """Read the rows again, after a commit. While the database is lost, the child goes on trying."""
        try:
            await self._read()
        except StorageError:
            self.wake()

    @asynccontextmanager
    async def changing(self) -> AsyncGenerator[None]:
        """Read the rows again after a change, also if the outcome of its commit is not known."""
        try:
            yield
        finally:
            await self.reload()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._read_at_last()
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_current)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _keep_current(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = trio.Event()  # before the rows are read: a change meanwhile is read in the next round
            await self._read_at_last()

    async def _read_at_last(self) -> None:
        while True:
            try:
                return await self._read()
            except StorageError:
                await trio.sleep(RETRY)  # the lost database is logged elsewhere

    async def _read(self) -> None:
        """One after the other, so that no older rows replace newer ones."""
        async with self._reading:
            self.domains, self.networks = await self._database.read(_rules, self._limited)
            for observe in self._observers:
                observe()


async def _rules(db: Connection, limited: bool) -> tuple[DomainRules, NetworkRules]:
    allowed = [one.domain for one in await allowed_domains.find_all(db)] if limited else None
    domains = DomainRules(await blocked_domains.find_all(db), allowed)
    return domains, NetworkRules(await blocked_networks.find_all(db))

"""Reading rows into memory at start and after each change, for small tables that each request needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from ...storage.engine.database import StorageError

RETRY = 1.0  # seconds until rows that could not be read are read again


class RowLoader(ABC):
    """A child that keeps rows in memory. Changes by other programs come as notices, which wake it."""

    def __init__(self) -> None:
        self._reading = trio.Lock()
        self._changed = trio.Event()

    @abstractmethod
    async def _read(self) -> None:
        """Read the rows and replace the rows in memory."""

    def wake(self) -> None:
        """Read the rows again."""
        self._changed.set()

    @asynccontextmanager
    async def changing(self) -> AsyncGenerator[None]:
        """Read the rows again if a change fails: the outcome of its commit may not be known.

        A change that succeeds publishes `ChangedRows`.
        """
        try:
            yield
        except BaseException:
            await self.reload()
            raise

    async def reload(self) -> None:
        """Read the rows again, after a commit. While the database is lost, the child goes on trying."""
        try:
            await self._load()
        except StorageError:
            self.wake()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._load_with_retries()
        task_status.started()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_current)
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _keep_current(self) -> None:
        while True:
            await self._changed.wait()
            self._changed = trio.Event()  # before the rows are read: a change meanwhile is read in the next round
            await self._load_with_retries()

    async def _load_with_retries(self) -> None:
        while True:
            try:
                return await self._load()
            except StorageError:
                await trio.sleep(RETRY)  # the lost database is logged elsewhere

    async def _load(self) -> None:
        """Read the rows, one read at a time, so that no older rows replace newer rows."""
        async with self._reading:
            await self._read()

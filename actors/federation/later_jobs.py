"""Work that nobody waits for: some at a time, each once, and forgotten if there is too much of it or after a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from ...storage.engine.database import StorageError
from ..kernel import Record
from .errors import FetchFailed

MOST = 2000  # jobs that wait
WORKERS = 8
SECONDS = 120.0  # for one job

Job = Callable[[], Awaitable[object]]


class LaterJobs:
    """Jobs by their keys, in the order in which they were added."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._jobs: dict[str, Job] = {}
        self._busy: set[str] = set()
        self._added = trio.Event()

    def __len__(self) -> int:
        return len(self._jobs) + len(self._busy)

    def add(self, key: str, job: Job) -> None:
        """Have a job done, unless one with this key waits or is being done."""
        if key not in self._jobs and key not in self._busy and len(self._jobs) < MOST:
            self._jobs[key] = job
            self._added.set()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(WORKERS):
                nursery.start_soon(self._work)
            task_status.started()
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _work(self) -> None:
        while True:
            while not self._jobs:
                self._added = trio.Event()
                await self._added.wait()
            key = next(iter(self._jobs))
            job = self._jobs.pop(key)
            self._busy.add(key)
            try:
                with trio.move_on_after(SECONDS):
                    await job()
            except (FetchFailed, StorageError):
                pass  # it is tried again when it is needed again, and a lost database is logged elsewhere
            except Exception as error:
                # A document that nobody thought of must not end the work on others.
                self._record("fetch.failed", error=error)
            finally:
                self._busy.discard(key)

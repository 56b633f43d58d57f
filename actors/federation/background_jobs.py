"""A bounded queue of background jobs. The same job is never queued or run twice at a time.

Jobs beyond the bound are dropped, and a crash loses all jobs.

A job belongs to the domain of its URI. Each domain has a share, so that the jobs of slow or hostile servers don't delay
the jobs of others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from ...storage.engine.database import StorageError
from ..activitypub.vocabulary import host_of
from ..kernel import Record
from ..rules.domains import registrable
from .budgets import Cause, cause_of_later_work, caused_by
from .errors import FetchFailed

MOST = 2000  # jobs that wait
MOST_OF_ONE_DOMAIN = 200  # of a domain
AT_ONCE = 32  # jobs that run at the same time
AT_ONCE_OF_ONE_DOMAIN = 2
SECONDS = 120.0  # for a job

Job = Callable[[], Awaitable[object]]
_Key = tuple[str, str]


class BackgroundJobs:
    """Jobs by their kind of work and their URI. The jobs of a domain run in the order in which they were added."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._jobs: dict[str, dict[_Key, tuple[Cause, Job]]] = {}  # that wait, by domain
        self._busy: dict[str, set[_Key]] = {}
        self._waiting = 0
        self._begun = 0
        self._changed = trio.Event()

    def __len__(self) -> int:
        return self._waiting + self._begun

    def add(self, work: str, uri: str, job: Job) -> None:
        """Queue a job, unless the same job is queued or runs already, or the queue is full.

        Its requests count for the current cause. A cause without a budget, or at its greatest depth, gets no further
        job.
        """
        key, domain = (work, uri), registrable(host_of(uri) or "")
        jobs = self._jobs.get(domain, {})
        if key in jobs or key in self._busy.get(domain, ()):
            return
        cause = cause_of_later_work()
        if cause is not None and self._waiting < MOST and len(jobs) < MOST_OF_ONE_DOMAIN:
            self._jobs.setdefault(domain, jobs)[key] = (cause, job)
            self._waiting += 1
            self._changed.set()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._begin_jobs, nursery, name="background jobs")
            task_status.started()
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def _begin_jobs(self, nursery: trio.Nursery) -> None:
        """Start a task for each job, as soon as there is room for it. Idle workers would all wake for each job."""
        while True:
            while (domain := self._next()) is not None:
                nursery.start_soon(self._work, domain, *self._take(domain))
            self._changed = trio.Event()
            await self._changed.wait()

    async def _work(self, domain: str, key: _Key, cause: Cause, job: Job) -> None:
        try:
            with trio.move_on_after(SECONDS), caused_by(cause):
                await job()
        except (FetchFailed, StorageError):
            pass  # the job is added again when it is needed; a lost database is logged elsewhere
        except Exception as error:
            # A document of an unforeseen shape must not end other jobs.
            self._record("fetch.failed", error=error)
        finally:
            self._finish(domain, key)

    def _next(self) -> str | None:
        """Return a domain with a queued job that may start now."""
        if self._begun >= AT_ONCE:
            return None
        return next((domain for domain in self._jobs if len(self._busy.get(domain, ())) < AT_ONCE_OF_ONE_DOMAIN), None)

    def _take(self, domain: str) -> tuple[_Key, Cause, Job]:
        """Take the first job of a domain. Its other jobs are queued behind the jobs of other domains."""
        jobs = self._jobs.pop(domain)
        key = next(iter(jobs))
        cause, job = jobs.pop(key)
        if jobs:
            self._jobs[domain] = jobs
        self._busy.setdefault(domain, set()).add(key)
        self._waiting -= 1
        self._begun += 1
        return key, cause, job

    def _finish(self, domain: str, key: _Key) -> None:
        self._busy[domain].discard(key)
        self._begun -= 1
        if not self._busy[domain]:
            del self._busy[domain]
        self._changed.set()

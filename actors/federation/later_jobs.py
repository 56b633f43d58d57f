"""A bounded queue of work in the background: some jobs at a time, each once.

Jobs beyond the bound are dropped, and a crash loses all.

A job belongs to the domain whose server it begins with. Each domain has a share, so that slow servers and hostile ones
don't keep the jobs of others waiting.
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
MOST_OF_ONE_DOMAIN = 200  # of them
AT_ONCE = 32  # jobs that are done at the same time
AT_ONCE_OF_ONE_DOMAIN = 2
SECONDS = 120.0  # for one job

Job = Callable[[], Awaitable[object]]
_Key = tuple[str, str]


class LaterJobs:
    """Jobs by what they do and the URI that it is done for: of each domain in the order in which they were added."""

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
        """Have a job done, unless the same one waits or is being done, or too many wait.

        Its requests count for what is being done now, which may have led to too many or too far already.
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
            nursery.start_soon(self._begin_jobs, nursery, name="later jobs")
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
            pass  # it is tried again when it is needed again, and a lost database is logged elsewhere
        except Exception as error:
            # A document of an unforeseen shape must not end the work on others.
            self._record("fetch.failed", error=error)
        finally:
            self._finish(domain, key)

    def _next(self) -> str | None:
        """Return a domain with a job that waits and may be begun now."""
        if self._begun >= AT_ONCE:
            return None
        return next((one for one in self._jobs if len(self._busy.get(one, ())) < AT_ONCE_OF_ONE_DOMAIN), None)

    def _take(self, domain: str) -> tuple[_Key, Cause, Job]:
        """Take the first job of a domain. Its others wait for those of other domains."""
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

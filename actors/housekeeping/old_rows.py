"""Completes rows of earlier versions with the values that this version needs, while the server runs.

A migration only adds the column or the table. To compute its values there would stop the server as long as that takes
(an hour for two million posts), and SQL can't compute all of them. A batch is one transaction, so after a kill the work
goes on where it was.

In a cluster only the leader works. Two leaders at once store the same words: a row that has them stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import trio

from ...storage import account_names, statuses
from ...storage.engine.database import Database
from ...storage.upkeep import words_to_come
from ..cluster.others import Others
from ..kernel import Clock, Record, instant_of_id
from .sweeps import sweep_until

ACCOUNTS = 50  # of a batch; the longest names take a millisecond each
POSTS = 50  # of a batch, which take about 20 ms here and 20 ms in PostgreSQL
SHORT_PAUSE = 0.02  # seconds between two batches of accounts, so that requests come in between
PAUSE = 0.1  # seconds between two batches of posts: a third of a core is used
LONG = 10_000  # characters of a post that is cut in a thread
REPORTED = 600.0  # seconds between two records in the log
EVERY = 3600.0  # seconds until the next look: a restored backup of an earlier version has more such rows
AGAIN = 60.0  # seconds until the next look after a fault of the machine


class OldRows:
    """The child that completes old rows: the names of accounts, then the words of posts, the newest first."""

    def __init__(self, database: Database, clock: Clock, record: Record, others: Others) -> None:
        self._database = database
        self._clock = clock
        self._record = record
        self._others = others
        self._reported: datetime | None = None
        self.accounts = 0  # that were completed
        self.posts = 0
        self.searchable_since: datetime | None = None  # None: all posts are

    def inspect(self) -> dict[str, object]:
        """Return the numbers for an operator."""
        done: dict[str, object] = {"accounts": self.accounts, "posts": self.posts}
        since = self.searchable_since
        return done if since is None else done | {"searchable_since": since.isoformat()}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Complete all rows at start, and look for more from time to time, until `stopping`."""
        task_status.started()
        await sweep_until(stopping, self.complete, EVERY, AGAIN)

    async def complete(self) -> None:
        """Complete all old rows, batch after batch."""
        # Polls, because there is no event for rows that other processes have written.
        while self._others.is_leader and await self._fill_names():  # noqa: ASYNC110
            await trio.sleep(SHORT_PAUSE)
        while self._others.is_leader and await self.fill_words():  # noqa: ASYNC110
            await trio.sleep(PAUSE)

    async def _fill_names(self) -> bool:
        """Store the words of some accounts' names. False if there are no more."""
        filled = await self._database.transact(account_names.fill, ACCOUNTS)
        self.accounts += filled
        return filled > 0

    async def fill_words(self) -> bool:
        """Store the words of some posts. False if there are no more."""
        below = await self._database.read(words_to_come.below)
        if below is None:
            return False
        ids = await self._database.read(words_to_come.next_ids, below, POSTS)
        vectors = await self._vectors(ids)
        last = ids[-1] if len(ids) == POSTS else None
        await self._database.transact(words_to_come.store, vectors, last)
        self.posts += len(ids)
        self.searchable_since = None if last is None else instant_of_id(last)
        self._report()
        return last is not None

    async def _vectors(self, ids: Sequence[int]) -> dict[int, str]:
        vectors: dict[int, str] = {}
        for id, status in (await self._database.read(statuses.find_many, ids)).items():
            if len(status.content) > LONG:
                vectors[id] = await trio.to_thread.run_sync(statuses.vector_of, status)
            else:
                vectors[id] = statuses.vector_of(status)
                await trio.lowlevel.checkpoint()
        return vectors

    def _report(self) -> None:
        """Say how far it is, at the beginning, from time to time, and at the end."""
        now, since = self._clock.now(), self.searchable_since
        if since is None:
            self._record("search.filled", decision=f"all posts can be found; {self.posts} were added since the start")
        elif self._reported is None or (now - self._reported).total_seconds() >= REPORTED:
            self._reported = now
            self._record(
                "search.filling", decision=f"posts since {since.astimezone(UTC):%Y-%m-%d %H:%M} can be found, "
                "older ones are being added",
            )  # fmt: skip

"""Deletes the rows of effects that are done: all that became done while PostgreSQL was asked, by one statement."""

from __future__ import annotations

from dataclasses import dataclass, field

import trio

from ...storage.engine.database import Database, Doubtful, Unavailable
from ..effects.registry import DeleteDone

# An effect whose row stays is carried out again, so a statement that failed is tried again first, after a pause. It may
# have been committed: then it finds no rows.
TRIES = 4
PAUSE = 0.25  # seconds


@dataclass(slots=True, eq=False)
class DeletionBatch:
    """Rows that one statement deletes. Its failure is raised by each lane that waits for it."""

    ids: list[int] = field(default_factory=list[int])
    settled: trio.Event = field(default_factory=trio.Event)
    failure: Exception | None = None


class Deletions:
    """One for each relay. They run in the nursery of `run`, not in those of the lanes."""

    def __init__(self, database: Database, relay_id: int) -> None:
        self._database = database
        self._relay_id = relay_id
        self._next: dict[DeleteDone, DeletionBatch] = {}
        self._woken = trio.Event()

    async def delete(self, delete: DeleteDone, id: int) -> None:
        """Delete the row of an effect, as far as the relay has claimed it. Raise the error of the statement."""
        batch = self._next.setdefault(delete, DeletionBatch())
        batch.ids.append(id)
        self._woken.set()
        await batch.settled.wait()
        if batch.failure is not None:
            raise batch.failure

    async def run(self) -> None:
        """Delete what lanes have done, until it is cancelled."""
        while True:
            await self._woken.wait()
            self._woken = trio.Event()
            while self._next:
                delete = next(iter(self._next))
                await self._delete_batch(delete, self._next.pop(delete))

    async def _delete_batch(self, delete: DeleteDone, batch: DeletionBatch) -> None:
        try:
            await self._try(delete, batch.ids)
        except Exception as error:
            batch.failure = error  # the lanes' business
        batch.settled.set()

    async def _try(self, delete: DeleteDone, ids: list[int]) -> None:
        for left in range(TRIES - 1, -1, -1):
            try:
                await self._database.transact_alone(delete, ids, self._relay_id)
                return
            except (Unavailable, Doubtful):
                if not left:
                    raise
                await trio.sleep(PAUSE)

"""Deletes the rows of finished effects: one statement deletes all that finished during the previous statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from ...storage.engine.database import Database, Doubtful, Unavailable
from ..effects.registry import DeleteDone

# An effect whose row stays is executed again. So a failed statement is retried first, after a pause. If the failed
# statement was committed, the retry finds no rows.
TRIES = 4
PAUSE = 0.25  # seconds


@dataclass(slots=True, eq=False)
class DeletionBatch:
    """Rows that one statement deletes. Each worker that waits for it raises its failure."""

    ids: list[int] = field(default_factory=list[int])
    settled: trio.Event = field(default_factory=trio.Event)
    failure: Exception | None = None


class Deletions:
    """The deletions of one relay.

    `run` is a task of its own, so that a cancelled worker cancels no statement.
    """

    def __init__(self, database: Database, relay_id: Callable[[], int]) -> None:
        self._database = database
        self._relay_id = relay_id
        self._next: dict[DeleteDone, DeletionBatch] = {}
        self._woken = trio.Event()

    async def delete(self, delete: DeleteDone, id: int) -> None:
        """Delete the row of an effect if the relay has claimed it. Raises the error of the statement."""
        batch = self._next.setdefault(delete, DeletionBatch())
        batch.ids.append(id)
        self._woken.set()
        await batch.settled.wait()
        if batch.failure is not None:
            raise batch.failure

    async def run(self) -> None:
        """Delete the rows of finished effects, until cancelled."""
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
            batch.failure = error  # `delete` raises it in the workers
        batch.settled.set()

    async def _try(self, delete: DeleteDone, ids: list[int]) -> None:
        for left in range(TRIES - 1, -1, -1):
            try:
                await self._database.transact_alone(delete, ids, self._relay_id())
                return
            except (Unavailable, Doubtful):
                if not left:
                    raise
                await trio.sleep(PAUSE)

"""All waiting turns and loads of a pool."""

from __future__ import annotations

from typing import Any

import trio

from .cell import Cell
from .envelope import Envelope
from .pool_context import PoolContext
from .retirement import let_go
from .run_queue import TaskFunction
from .work import Work


class WorkInProgress:
    """The waiting turns and loads of a pool. A pool that stops waits until none is left."""

    __slots__ = ("_cells", "_done", "_queue", "_record", "_unfinished", "working")

    def __init__(self, pool: PoolContext) -> None:
        self._cells = pool.cells
        self._queue = pool.queue
        self._record = pool.services.record
        self._unfinished = 0  # those under way, and those whose task is not yet started
        self._done = trio.Event()
        self.working: dict[Work, None] = {}  # those under way, in the order in which they began

    # `Any`: a coroutine that `type` has found has no type arguments.
    def start(self, function: TaskFunction, cell: Cell, *arguments: Any) -> None:
        """Start the task of a waiting turn or a load. It calls `begin` first and `end` last."""
        self._unfinished += 1
        self._queue.start(function, cell, *arguments)

    def begin(self, cell: Cell, envelope: Envelope | None) -> Work:
        """Note that the current task is a turn for this message or, without one, a load."""
        cell.work = work = Work(cell, envelope)
        self.working[work] = None
        return work

    def end(self, work: Work) -> bool:
        """Note that a turn or load has ended. False if it was abandoned before: then it must not change the cell."""
        if work.abandoned:
            self._make_up_for(work)
            return False
        work.cell.work = None
        del self.working[work]
        self._unfinished -= 1
        return True

    def abandon(self, work: Work) -> None:
        """Take the cell away from a turn or load that does not end although it was cancelled.

        Its task goes on, and so does its transaction if one is under way. That may still commit: then its rows and
        their promises in the outbox stand, although the asker was told of a crash, as with a COMMIT in doubt. The next
        incarnation may have read its rows before that commit, so it reads them again when the task has ended. What the
        task does with its own incarnation meanwhile changes memory that no turn reads and a feed that has no
        subscribers, and it can begin no further transaction.
        """
        cell = work.cell
        del self.working[work]
        self._unfinished -= 1
        cell.work = None
        work.abandoned = True
        work.actor = cell.actor
        if cell.actor is not None:
            cell.actor.detach()

    def check_done(self) -> None:
        """Wake `wait_until_done` if nothing is left. Called after each end, and when the drainer has nothing to do."""
        if not self._unfinished and not self._queue.cells:
            self._done.set()

    async def wait_until_done(self) -> None:
        """Wait until no turn or load is under way and no cell is queued."""
        while self._unfinished or self._queue.cells:
            self._done = trio.Event()
            await self._done.wait()

    def clear(self) -> None:
        """Forget everything: the pool has stopped."""
        self._unfinished = 0
        self.working.clear()

    def _make_up_for(self, work: Work) -> None:
        """Repair what abandoned work did: a load may have registered its cell, a turn may have committed."""
        if work.actor is not None:
            let_go(work.cell, work.actor, self._record)
        if (cell := self._cells.get(work.cell.address.key)) is not None:
            self._queue.resync(cell)

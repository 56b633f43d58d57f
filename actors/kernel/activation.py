"""Loading: an actor with messages in its mailbox gets a new incarnation, which is filled from rows."""

from __future__ import annotations

from collections.abc import Callable

import trio

from .cell import READY, Cell, CellPhase, CrowdedCells, Incarnation, held_state
from .errors import describe
from .feed import Feed
from .pool_context import PoolContext, Record
from .recovery import Recovery, retire
from .work import WorkInProgress


class Activation:
    """Loads the incarnations of a pool's actors, each in a task of its own."""

    __slots__ = ("_crowd", "_make", "_queue", "_record", "_recovery", "_unavailable", "_work", "restarts")

    def __init__(
        self, pool: PoolContext, make: Callable[[Cell], Incarnation], work: WorkInProgress, recovery: Recovery
    ) -> None:
        self._make = make
        self._queue = pool.queue
        self._crowd = pool.crowd
        self._record = pool.services.record
        self._unavailable = pool.services.unavailable
        self._work = work
        self._recovery = recovery
        self.restarts = 0  # incarnations that replaced another incarnation

    def begin(self, cell: Cell) -> None:
        """Replace the incarnation of a cell that is at rest."""
        retire(cell, self._record)
        cell.phase = CellPhase.LOADING
        self.restarts += cell.incarnation > 0
        cell.incarnation += 1
        self._work.start(self._loading, cell)

    # Protected like a turn: see `drainer.py`.
    @trio.lowlevel.enable_ki_protection
    async def _loading(self, cell: Cell) -> None:
        cell.mailbox.resync = False  # before the rows are read: a later hint then causes another load
        work = self._work.begin(cell, None)
        _, error = await work.result_of(self._load(cell))
        if not self._work.end(work):
            return
        if error is None:
            self._loaded(cell)
        elif isinstance(error, self._unavailable):
            self._recovery.handle_unavailable(cell, error)
        else:
            self._recovery.crash(cell, None, error)
        self._work.check_done()

    async def _load(self, cell: Cell) -> None:
        # Known to the cell before it loads: its registrations elsewhere are undone if the load fails.
        cell.actor = self._make(cell)
        await cell.actor.load()

    def _loaded(self, cell: Cell) -> None:
        cell.phase = READY
        if cell.incarnation > 1:
            self._record(
                "actor.restored", actor=str(cell.address), incarnation=cell.incarnation, depth=len(cell.mailbox),
                restored=held_state(cell.actor),
            )  # fmt: skip
        if cell.listened is not None:
            if not cell.mailbox.resync:
                cell.listened.release()
            wake_subscribers(cell, cell.listened, self._crowd, self._record)
        self._queue.schedule(cell)


def wake_subscribers(cell: Cell, feed: Feed, crowd: CrowdedCells, record: Record) -> None:
    """Have the subscribers of a cell read its new events. Log the subscribers that were cut, note a crowded cell."""
    for error in feed.catch_up():
        record("stream.cut", actor=str(cell.address), error=describe(error) if error else "too slow", decision="cut")
    if feed.is_crowded:
        crowd.note(cell)

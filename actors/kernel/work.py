"""Waiting turns and loads, each in a task of its own (`Work`), and all of a pool (`WorkInProgress`)."""

from __future__ import annotations

from collections.abc import Coroutine
from math import inf
from typing import Any

import trio

from ...storage.engine.database import is_group
from .cell import Cell, Incarnation
from .message import Envelope
from .pool_context import Observer, PoolContext, TaskFunction
from .recovery import let_go

LONGEST_TURN = 30.0  # seconds until a turn is cancelled and its actor crashed


class Overdue(Exception):
    """Raised in a turn that took too long."""

    def __init__(self) -> None:
        super().__init__(f"over {LONGEST_TURN:g} s")


class Released(BaseException):
    """Raised in a turn that an operator has ended. No `Exception`, so that a loop that catches these ends too."""

    def __init__(self) -> None:
        super().__init__("by an operator")


class Work:
    """One waiting turn or, without an envelope, one load.

    `cell.work` is this object for as long as the work owns the cell. The watchdog takes the cell away from work that
    does not end when it is cancelled; abandoned work must not change the cell any more.
    """

    __slots__ = (
        "_scope", "abandoned", "actor", "cell", "envelope", "logged", "released", "started_at", "task", "waits_for",
    )  # fmt: skip

    def __init__(self, cell: Cell, envelope: Envelope | None) -> None:
        self.cell = cell
        self.envelope = envelope
        self.started_at = trio.current_time()
        self.task = trio.lowlevel.current_task()
        self.waits_for: Cell | None = None  # the cell that an ask of this turn waits for
        self.logged = False  # it was logged as slow
        self.abandoned = False  # the watchdog has taken the cell away
        self.released = False  # an operator has ended it
        self._scope = trio.CancelScope(deadline=self.started_at + LONGEST_TURN)
        self.actor: Incarnation | None = None  # the incarnation that was abandoned with it

    async def result_of(
        self, doing: Coroutine[object, object, object], observe: Observer | None = None
    ) -> tuple[object, BaseException | None]:
        """Return the result of the turn or load, or the error that its actor crashes with."""
        answer: object = None
        try:
            with self._scope:
                answer = await doing
                if observe is not None and self.envelope is not None:
                    observe(self.cell.address, self.envelope.message, "after")
        except BaseException as raised:
            if (error := own_error(raised)) is None:
                raise
            return None, error
        # A turn that shields itself is not cancelled, but it is overdue too.
        return answer, self.error if trio.current_time() >= self.ends_at else None

    @property
    def ends_at(self) -> float:
        """The time on Trio's clock when the work is cancelled."""
        return self._scope.deadline

    @property
    def error(self) -> BaseException:
        """The error that the actor crashes with if the work has not ended in time."""
        return Released() if self.released else Overdue()

    def release(self) -> None:
        """Cancel the work now, by order of an operator."""
        self.released = True
        self._scope.deadline = trio.current_time()


def own_error(raised: BaseException) -> BaseException | None:
    """Return the error of a turn or load. None if it was only cancelled together with its pool.

    Without the pool's cancellation even a `trio.Cancelled` is an error of the turn: it comes from another scope.
    """
    if trio.current_effective_deadline() > -inf:
        return raised
    if is_group(raised):
        return raised.split(trio.Cancelled)[1]
    return None if isinstance(raised, trio.Cancelled) else raised


class WorkInProgress:
    """The waiting turns and loads of a pool. A pool that stops waits until none is left."""

    __slots__ = ("_cells", "_done", "_queue", "_record", "_unfinished", "working")

    def __init__(self, pool: PoolContext) -> None:
        self._cells = pool.cells
        self._queue = pool.queue
        self._record = pool.services.record
        self._unfinished = 0  # running turns and loads, and turns and loads whose task is not yet started
        self._done = trio.Event()
        self.working: dict[Work, None] = {}  # running turns and loads, in the order in which they began

    # `Any`: a coroutine that `type` has found has no type arguments.
    def start(self, function: TaskFunction, cell: Cell, *arguments: Any) -> None:
        """Start the task of a waiting turn or a load. It calls `begin` first and `end` last."""
        self._unfinished += 1
        self._queue.start(function, cell, *arguments)

    def begin(self, cell: Cell, envelope: Envelope | None) -> Work:
        """Note that the current task is a turn for this message, or a load if there is no envelope."""
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

        Its task goes on, and so does a running transaction, which may still commit. Then the rows and their promises in
        the outbox are valid, although the asker got the error of a crash, as with a COMMIT in doubt. The next
        incarnation may have read its rows before that commit, so it reads them again when the task has ended.
        Meanwhile the task can change only the memory of its own incarnation, which no turn reads, and a feed without
        subscribers. It can begin no further transaction.
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
        """Repair the effects of abandoned work: a load may have registered its cell, a turn may have committed."""
        if work.actor is not None:
            let_go(work.cell, work.actor, self._record)
        if (cell := self._cells.get(work.cell.address.key)) is not None:
            self._queue.resync(cell)

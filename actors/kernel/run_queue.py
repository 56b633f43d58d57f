"""The run queue of a pool: what its drainer has to do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import trio

from .cell import AT_REST, Cell

# The function of a task that works for one cell, and its arguments after the cell. They differ from function to
# function, and `start` has no use for their types.
TaskFunction: TypeAlias = Callable[..., Coroutine[object, object, None]]
PendingTask: TypeAlias = tuple[TaskFunction, Cell, tuple[object, ...]]


class RunQueue:
    """The cells that wait for their next turn or load, and the tasks to start. The drainer sleeps while it is empty."""

    __slots__ = ("cells", "closed", "sleeper", "tasks")

    def __init__(self) -> None:
        self.cells: deque[Cell] = deque()
        self.tasks: deque[PendingTask] = deque()
        self.closed = True  # the pool takes no mail: it does not run yet, or it stops
        self.sleeper: trio.lowlevel.Task | None = None  # the drainer, when it has nothing to do

    def schedule(self, cell: Cell) -> None:
        """Queue a cell that is at rest and has something to do."""
        if not cell.queued and cell.phase in AT_REST and (cell.mailbox or cell.mailbox.resync):
            cell.queued = True
            self.cells.append(cell)
            if self.sleeper is not None:
                self.wake()

    def enqueue(self, cell: Cell) -> None:
        """Queue a cell that may have nothing to do: the drainer looks."""
        if not cell.queued:
            cell.queued = True
            self.cells.append(cell)
            self.wake()

    def resync(self, cell: Cell) -> None:
        """Have the actor read its rows again before it takes its next message."""
        if not self.closed:
            if cell.puts_off:
                cell.mailbox.clear()  # the rows that are read now contain all of it, as they are now
            cell.mailbox.resync = True
            self.schedule(cell)

    # `Any`: a coroutine that `type` has found has no type arguments.
    def start(self, function: TaskFunction, cell: Cell, *arguments: Any) -> None:
        """Have the drainer start a task."""
        self.tasks.append((function, cell, arguments))
        self.wake()

    def wake(self) -> None:
        """End the sleep of the drainer."""
        if self.sleeper is not None:
            trio.lowlevel.reschedule(self.sleeper)
            self.sleeper = None

    def cancel_sleep(self, _: object) -> trio.lowlevel.Abort:
        """Note that the drainer was cancelled in its sleep. Trio calls this."""
        self.sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED

    def clear(self) -> None:
        """Forget everything: the pool has stopped."""
        self.cells.clear()
        for _, _, arguments in self.tasks:
            if arguments and isinstance(arguments[-1], Coroutine):
                arguments[-1].close()  # a turn that was never started
        self.tasks.clear()

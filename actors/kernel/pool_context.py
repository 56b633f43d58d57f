"""The context that the parts of one pool share: its cells, the services of all pools, and its run queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import trio

from .actor import Turn
from .cell import AT_REST, Cell, CrowdedCells
from .message import Address, Envelope
from .request_trail import RequestTrail


class Record(Protocol):
    """Writes a supervision decision: an event of the log's vocabulary and its facts."""

    def __call__(self, event: str, /, **facts: object) -> None: ...


Park = Callable[[Address, Envelope, BaseException], None]  # keeps a message that crashed its actor twice
Chooser = Callable[[Sequence[str]], int]
# The last option of a chooser when no turn has to be taken now: other tasks run first.
PAUSE = "<pause>"
Observer = Callable[[Address, object, Literal["before", "after"]], None]
# Returns a turn that is traced, and its message as the origin of what the turn sends.
TraceTurn = Callable[[Address, Envelope, Turn], tuple[Envelope, Turn]]


@dataclass(frozen=True, slots=True)
class PoolServices:
    """The services that all pools share.

    `choose` decides which turn is next, and whether other tasks run before it; `observe` sees every turn before and
    after, and may raise. Both are for simulation. Without `choose`, messages are handled in the order of arrival, asks
    are answered at once when possible, and turns run for a millisecond between two checkpoints.
    """

    record: Record
    park: Park
    chance: Callable[[], float]
    choose: Chooser | None = None
    observe: Observer | None = None
    unavailable: tuple[type[Exception], ...] = ()  # raised when there is no database; does not crash an actor
    trail: RequestTrail = field(default_factory=RequestTrail)
    trace: TraceTurn | None = None  # called for messages of traced requests


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
            if cell.defers:
                cell.mailbox.clear()  # the rows that are read next contain all of these changes
            cell.mailbox.resync = True
            self.schedule(cell)

    def start(self, function: TaskFunction, cell: Cell, *arguments: object) -> None:
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


@dataclass(frozen=True, slots=True)
class PoolContext:
    """The state of a pool that its parts share."""

    services: PoolServices
    cells: dict[str, Cell] = field(default_factory=dict[str, Cell])  # by key: the awake actors
    queue: RunQueue = field(default_factory=RunQueue)
    crowd: CrowdedCells = field(default_factory=CrowdedCells)

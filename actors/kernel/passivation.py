"""Passivation: which actors of a pool go to sleep, and when.

An actor sleeps when it has not been used for `idle` seconds, or when it is the least recently used and too much is
awake: more than `most_awake` actors, or more than its pool may hold together with others (`SharedBound`). Actors
with subscribers, messages or work stay awake.

The cells are in a heap, ordered by last use. A use changes `last_used` and not the heap, which makes it free: a cell
that reaches the top with an outdated time gets its true time and sinks back. A time in the heap is right or too early,
so the first cell at the top with the right time is the least recently used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from time import perf_counter
from typing import Protocol

from .cell import Cell

SLICE = 0.001  # seconds between two checkpoints
LOOKS = 32  # cells examined in a slice; limits slices in simulation, where real time must not decide
AGAIN = 30.0  # seconds until a cell that was too busy to sleep is examined again
LISTENED_AT_ONCE = 1_000  # cells with subscribers that are examined in one round, which takes 0.1 ms


class Passivation:
    """Puts the cells of one pool to sleep. It shares the pool's `cells`; `retire` ends an incarnation."""

    def __init__(
        self,
        cells: dict[str, Cell],
        retire: Callable[[Cell], None],
        wake_drainer: Callable[[], None],
        *,
        most_awake: int,
        idle: float,
        simulated: bool,
        bound: SharedBound | None = None,
    ) -> None:
        self._cells = cells
        self._retire = retire
        self.most_awake = most_awake
        self.pending = False  # True if more cells should sleep than the last slice has looked at
        self._idle = idle
        self._simulated = simulated
        self._wake_drainer = wake_drainer
        self._bound = bound
        if bound is not None:
            bound.add(self)
        self.slept = 0  # actors put to sleep so far
        self._heap: list[Cell] = []
        self._listened: deque[Cell] = deque()  # not in the heap, so that slices do not meet them each time
        self._in_vain = 0  # busy cells examined since the last cell was put to sleep

    def add(self, cell: Cell) -> None:
        """Add a cell that has woken up."""
        self._push(cell, cell.last_used)

    def clear(self) -> None:
        """Forget everything: the pool has stopped."""
        self._heap.clear()
        self._listened.clear()

    @property
    def is_over(self) -> bool:
        """True if the least recently used actor is to sleep, however short ago that was."""
        return len(self._cells) > self.most_awake or (self._bound is not None and self._bound.names(self))

    @property
    def oldest(self) -> float | None:
        return self._heap[0].ranked_at if self._heap else None

    @property
    def is_hopeless(self) -> bool:
        return self._in_vain >= len(self._heap)

    def wake(self) -> None:
        """Have the drainer run a slice soon."""
        self.pending = True
        self._wake_drainer()

    def run_slice(self, now: float) -> bool:
        """Put cells to sleep for at most about a millisecond. True if there is more to do."""
        end = perf_counter() + SLICE
        busy: list[Cell] = []
        looks = 0
        # In simulation the number of looks alone is the bound: real time would not replay.
        while self._is_due(now) and looks < LOOKS and (self._simulated or looks == 0 or perf_counter() < end):
            looks += 1
            self._look_at_top(busy)
        over = len(self._cells) > self.most_awake or (self._bound is not None and self._bound.is_exceeded())
        for cell in busy:
            self._push(cell, now if over else now - self._idle + min(AGAIN, self._idle))
        if self._bound is not None:
            self._bound.pass_on(self)
        return self._is_due(now) and not self.is_hopeless

    def look_at_listened(self) -> None:
        """Put the cells that have lost their last subscriber back into the heap."""
        for _ in range(min(LISTENED_AT_ONCE, len(self._listened))):
            cell = self._listened.popleft()
            if cell.subscribers:
                self._listened.append(cell)
            else:
                self.add(cell)

    def _is_due(self, now: float) -> bool:
        heap = self._heap
        return bool(heap) and (heap[0].ranked_at <= now - self._idle or self.is_over)

    def _look_at_top(self, busy: list[Cell]) -> None:
        cell = self._heap[0]
        if cell.last_used > cell.ranked_at:
            cell.ranked_at = cell.last_used
            heapreplace(self._heap, cell)
            return
        heappop(self._heap)
        if cell.idle:
            self._in_vain = 0
            self.slept += 1
            self._retire(cell)
            del self._cells[cell.address.key]
        elif cell.subscribers:
            self._listened.append(cell)
        else:
            self._in_vain += 1
            busy.append(cell)

    def _push(self, cell: Cell, rank: float) -> None:
        cell.ranked_at = rank
        heappush(self._heap, cell)


class PassivatingPool(Protocol):
    """A pool that takes part: its `Passivation`."""

    @property
    def oldest(self) -> float | None:
        """The last use of the actor that it would put to sleep next, or earlier. None if it has none."""
        ...

    @property
    def is_hopeless(self) -> bool:
        """True if all its actors are busy."""
        ...

    def wake(self) -> None:
        """Have the pool look at its actors soon."""
        ...


class SharedBound:
    """Decides which pool puts an actor to sleep. `is_exceeded` returns True if too much is in memory."""

    def __init__(self, is_exceeded: Callable[[], bool]) -> None:
        self.is_exceeded = is_exceeded
        self._pools: list[PassivatingPool] = []

    def add(self, pool: PassivatingPool) -> None:
        self._pools.append(pool)

    def names(self, pool: PassivatingPool) -> bool:
        """True if an actor has to sleep, and this pool has the least recently used actor."""
        return self.is_exceeded() and self._next() is pool

    def pass_on(self, pool: PassivatingPool) -> None:
        """Wake the pool that has the least recently used actor, unless it is this pool."""
        if self.is_exceeded() and (following := self._next()) not in (None, pool) and not following.is_hopeless:
            following.wake()

    def _next(self) -> PassivatingPool | None:
        found: PassivatingPool | None = None
        least = 0.0
        for pool in self._pools:
            oldest = pool.oldest
            if oldest is not None and (found is None or oldest < least):
                found, least = pool, oldest
        return found

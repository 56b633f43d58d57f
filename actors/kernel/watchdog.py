"""The watchdog: a turn of more than a second is logged once, a turn of more than 30 seconds crashes its actor.

A load counts as a turn. Turns and loads that wait are checked in the loop, by housekeeping. A turn that does not wait
blocks the loop, so a thread checks the loop from outside. A turn pays for this only by noting its cell in the pool.
"""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from time import monotonic
from types import FrameType
from typing import NamedTuple, Protocol

import trio

from .cell import Cell, facts_of
from .message import Envelope
from .pool_context import Record
from .work import LONGEST_TURN, Work

SLOW_TURN = 1.0  # seconds until a turn is logged
# Seconds that a cancelled turn has to end by itself. It is usually in a transaction whose outcome must be known. A turn
# that takes longer is abandoned.
GRACE = 1.0
LOOK_EVERY = 0.25  # seconds between two checks of the thread


class Running(NamedTuple):
    """The turn or load that the loop runs at this instant. `work` is None for a plain turn."""

    cell: Cell
    envelope: Envelope | None
    work: Work | None


class Watched(Protocol):
    """A pool, as the watchdog's thread sees it."""

    def running(self) -> Running | None:
        """The turn or load that keeps the loop busy at this instant."""
        ...

    def mark_overdue(self, envelope: Envelope) -> None:
        """Have the actor crash whose plain turn for this message is overdue, as soon as the turn has ended."""
        ...


class Pace:
    """The pace of the watchdog's thread: the time of its next look, and other work that it does then."""

    def wait(self, ended: threading.Event) -> bool:
        """Wait until the next look. Return True if there is none, because `ended` is set."""
        return ended.wait(LOOK_EVERY)

    def look(self, loop: int) -> None:
        """Do other work at a look: by default nothing. `loop` is the loop's thread."""


class Watchdog:
    """Finds turns that block the loop, from its own thread. For production only: it uses real time."""

    def __init__(
        self,
        pools: Mapping[str, Watched],
        record: Record,
        meanwhile: Callable[[], object] = lambda: None,
        pace: Pace | None = None,
    ) -> None:
        """Make a watchdog. `meanwhile` is called at each look, for work that must go on while the loop is blocked."""
        self._pools = pools
        self._meanwhile = meanwhile
        self._pace = pace or Pace()
        self._record = record
        self._seen: Running | None = None
        self._since = 0.0
        self._logged = False
        self._looked_at = monotonic()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Watch the calling thread."""
        ended = threading.Event()
        thread = threading.Thread(
            target=self._watch, args=(threading.get_ident(), ended), name="troupe watchdog", daemon=True
        )
        thread.start()
        try:
            task_status.started()
            await stopping.wait()
        finally:
            ended.set()
            thread.join()

    def _watch(self, loop: int, ended: threading.Event) -> None:
        self._looked_at = monotonic()
        while not self._pace.wait(ended):
            self._pace.look(loop)
            if (now := monotonic()) >= self._looked_at + LOOK_EVERY:
                self.look(loop, now)
                self._meanwhile()

    def look(self, loop: int, now: float) -> None:
        """Check which turn runs in the thread `loop`, and for how long it has run without a pause."""
        running = running_turn(self._pools)
        if running is None or running != self._seen:
            # C code that holds the interpreter's lock also blocks this thread. A turn that is first seen after a
            # delayed check has therefore run for the time of the delay.
            self._seen, self._since, self._logged = running, min(now, self._looked_at + LOOK_EVERY), False
        self._looked_at = now
        if running is not None and now - self._since >= SLOW_TURN:
            self._check_turn(running, loop, now - self._since)

    def _check_turn(self, running: Running, loop: int, seconds: float) -> None:
        cell, envelope, work = running
        if not self._logged and not (work is not None and work.logged):
            self._logged = True
            stack = stack_of_turn(innermost_frame(loop))
            if running_turn(self._pools) != running:
                return  # the turn ended while its stack was taken: this is the stack of other code
            if work is not None:
                work.logged = True
            record_slow(self._record, running, seconds, stack)
        if seconds > LONGEST_TURN and work is None and envelope is not None:
            self._pools[cell.address.kind].mark_overdue(envelope)


def running_turn(pools: Mapping[str, Watched]) -> Running | None:
    """Return the turn or load that the loop runs at this instant. Another thread may ask."""
    for pool in list(pools.values()):
        if (running := pool.running()) is not None:
            return running
    return None


def facts_of_turn(running: Running | None) -> dict[str, object]:
    """Return the facts of a turn or load for the log; none if none runs."""
    if running is None:
        return {}
    cell, envelope, _ = running
    return facts_of(cell, envelope) if envelope is not None else facts_of(cell, None) | {"message": "load"}


def look_at_work(working: Mapping[Work, None], record: Record, now: float) -> list[Work]:
    """Log slow turns and loads. Return the work that did not end after it was cancelled."""
    stuck: list[Work] = []
    for work in list(working):
        if now - work.started_at < SLOW_TURN:
            break  # all others began later
        if not work.logged:
            work.logged = True
            stack = traceback.StackSummary.extract(work.task.iter_await_frames())
            record_slow(record, Running(work.cell, work.envelope, work), now - work.started_at, "".join(stack.format()))
        if now >= work.ends_at + GRACE:
            stuck.append(work)
    return stuck


def record_slow(record: Record, running: Running, seconds: float, stack: str) -> None:
    record("turn.slow", **facts_of_turn(running), seconds=round(seconds, 1), stack=stack)


def innermost_frame(thread: int) -> FrameType | None:
    """Return the innermost frame of a thread.

    The collector is off meanwhile: if it runs in this call, Python before 3.12 may wait for ever for a thread that
    starts (python/cpython#106883).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]  # documented, in spite of its name
    finally:
        if was_on:
            gc.enable()


def stack_of_turn(frame: FrameType | None) -> str:
    """Return the frames of a turn, innermost last, without frames of the kernel and of Trio."""
    frames = [] if frame is None else list(traceback.walk_stack(frame))
    outermost = next((place for place, (each, _) in enumerate(frames) if begins_turns(each)), len(frames))
    return "".join(traceback.StackSummary.extract(iter(reversed(frames[:outermost]))).format())


def begins_turns(frame: FrameType) -> bool:
    """True if this is the frame from which the kernel calls a plain turn, a waiting turn or a load."""
    package, _, module = str(frame.f_globals.get("__name__")).rpartition(".")
    return package == __package__ and module in ("activation", "drainer", "work")

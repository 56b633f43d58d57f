"""The supervisor of the infrastructure: children that depend on the children before them.

`rest_for_one`: when a child crashes, it and all children started after it are stopped in reverse order and started
again in order, after a pause: none for the first crash, then 0.1, 0.5, 2 and 10 s. A `period` without a crash ends the
sequence.

The supervisor gives up, and at the top of the tree the process exits, in two cases:

- Children that were running crashed more than `intensity` times in `period` seconds. A child that starts well and
  crashes at once is a bug; pauses do not help against it, so they do not count as time without crashes.
- A child could not be started again five times in a row, once after each pause, 12.6 s in all. Failed starts do not
  count for the intensity: the cause of a failed start is usually outside (a port in use, a full disk, PostgreSQL that
  is starting), and three attempts without a pause would be over before the cause is.

Entity actors are supervised by their pools, each by itself (`one_for_one`); see `actors/kernel/recovery.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

import trio

from ..actors.kernel import Record
from ..actors.kernel.errors import describe, place
from ..storage.engine.database import is_group, lone_exception

# Seconds until the restart after the first, second, … crash or failed start in a row.
BACK_OFF = (0.0, 0.1, 0.5, 2.0, 10.0)

# Seconds that each child has for stopping in order after a second signal.
HURRIED_GRACE = 0.5


class Runnable(Protocol):
    """The work of a child: it reports when it has started, and returns soon after `stopping` is set."""

    def __call__(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> Awaitable[None]: ...


class GaveUp(Exception):
    """Raised when a supervisor's children crashed more often than it tolerates."""


class ChildPhase(Enum):
    """The phase of a child's life."""

    STOPPED = auto()
    STARTING = auto()
    RUNNING = auto()
    STOPPING = auto()


@dataclass(eq=False)
class Child:
    """A supervised task. `grace` is the time it has for stopping in order, in seconds."""

    name: str
    run: Runnable
    grace: float = 5.0
    inspect: Callable[[], dict[str, object]] | None = None  # adds to its snapshot
    phase: ChildPhase = ChildPhase.STOPPED
    starts: int = 0
    ran: bool = False  # since its last start; False if that start failed
    error: Exception | None = None  # the error while it stopped
    _stopping: trio.Event = field(default_factory=trio.Event, repr=False)
    _stopped: trio.Event = field(default_factory=trio.Event, repr=False)
    _scope: trio.CancelScope = field(default_factory=trio.CancelScope, repr=False)
    _patience: trio.CancelScope = field(default_factory=trio.CancelScope, repr=False)

    async def start(self, nursery: trio.Nursery, crashed: trio.MemorySendChannel[tuple[Child, Exception]]) -> None:
        """Run in `nursery`. Return when the child has started. Its crash is sent to `crashed`."""
        self._stopping, self._stopped, self._scope = trio.Event(), trio.Event(), trio.CancelScope()
        self.phase = ChildPhase.STARTING
        self.error = None
        self.ran = False
        self.starts += 1
        await nursery.start(self._live, crashed, name=self.name)

    async def _live(
        self,
        crashed: trio.MemorySendChannel[tuple[Child, Exception]],
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        try:
            # Errors are taken out of the groups of nurseries, so that a fatal error is known by its class.
            with lone_exception(), self._scope:
                await self.run(self._stopping, task_status=_Started(self, task_status))
                if not self._stopping.is_set():
                    raise RuntimeError("returned without being asked to stop")
        except Exception as error:
            if self.phase is ChildPhase.STARTING:
                raise
            if self.phase is ChildPhase.STOPPING:
                self.error = error  # not a crash: the code that stops it knows the error already
            else:
                crashed.send_nowait((self, error))
        finally:
            self.phase = ChildPhase.STOPPED
            self._stopped.set()

    def snapshot(self) -> dict[str, object]:
        """Return the facts about the child for operators."""
        inside = self.inspect() if self.inspect else {}
        return {"name": self.name, "state": self.phase.name.lower(), "starts": self.starts, **inside}

    async def stop(self) -> bool:
        """Ask the child to stop, and cancel it after its grace. True if it stopped by itself."""
        if self.phase is ChildPhase.STOPPED:
            return True
        self.phase = ChildPhase.STOPPING
        self._stopping.set()
        self._patience = trio.CancelScope(deadline=trio.current_time() + self.grace)
        with self._patience:
            await self._stopped.wait()
        if self._patience.cancelled_caught:
            self._scope.cancel()
            with trio.CancelScope(shield=True):
                await self._stopped.wait()
        return not self._patience.cancelled_caught

    def end_grace(self) -> None:
        """Shorten the grace of the child, also if it is stopping already."""
        self.grace = min(self.grace, HURRIED_GRACE)
        self._patience.deadline = min(self._patience.deadline, trio.current_time() + self.grace)


class _Started:
    """A task status that also moves the child on to RUNNING."""

    def __init__(self, child: Child, status: trio.TaskStatus[None]) -> None:
        self._child = child
        self._status = status

    def started(self, value: None = None) -> None:
        self._child.phase = ChildPhase.RUNNING
        self._child.ran = True
        self._status.started(value)


class Supervisor:
    """Supervises children in the order in which they start. After a `fatal` error they are not restarted."""

    def __init__(
        self,
        name: str,
        children: list[Child],
        record: Record,
        *,
        intensity: int = 3,
        period: float = 30.0,
        fatal: tuple[type[Exception], ...] = (),
    ) -> None:
        self.name = name
        self.children = children
        self._record = record
        self._intensity = intensity
        self._period = period
        self._fatal = fatal
        self._crashes: deque[float] = deque()
        self._failures = 0  # crashes and failed starts in a row
        self._failed_starts = 0  # since all children were last running
        self._last_failure = 0.0

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the children, restart them after crashes, stop them in reverse order. Raises GaveUp."""
        # Room for a crash and a failed start of each child, so that a child that ends never waits.
        send, crashes = trio.open_memory_channel[tuple[Child, Exception]](len(self.children) * 2)
        with lone_exception():
            async with trio.open_nursery() as nursery:
                try:
                    for child in self.children:
                        await self._start(child, nursery, send)
                    task_status.started()
                    await self._watch(stopping, nursery, send, crashes)
                finally:
                    with trio.CancelScope(shield=True):
                        await self._stop(self.children)
                nursery.cancel_scope.cancel()

    async def _watch(
        self,
        stopping: trio.Event,
        nursery: trio.Nursery,
        send: trio.MemorySendChannel[tuple[Child, Exception]],
        crashes: trio.MemoryReceiveChannel[tuple[Child, Exception]],
    ) -> None:
        async with trio.open_nursery() as watch:
            watch.start_soon(_cancel_when, stopping, watch.cancel_scope)
            async for child, error in crashes:
                self._count(child, error)
                if self._may_start(child):
                    await self._restart(self.children[self.children.index(child) :], nursery, send)

    def _may_start(self, child: Child) -> bool:
        """False if the child was, or will be, started again with a child before it that crashed too."""
        before = self.children[: self.children.index(child)]
        return child.phase is ChildPhase.STOPPED and all(other.phase is ChildPhase.RUNNING for other in before)

    async def _restart(
        self, rest: list[Child], nursery: trio.Nursery, send: trio.MemorySendChannel[tuple[Child, Exception]]
    ) -> None:
        await self._stop(rest)
        await trio.sleep(self._pause)
        # A child before these may have crashed during the pause: its restart starts them too.
        if not self._may_start(rest[0]):
            return
        for child in rest:
            try:
                await self._start(child, nursery, send)
            except Exception as error:
                send.send_nowait((child, error))
                return
        self._failed_starts = 0

    @property
    def _pause(self) -> float:
        return BACK_OFF[min(self._failures, len(BACK_OFF)) - 1]

    def _count(self, child: Child, error: Exception) -> None:
        now = trio.current_time()
        self._failures = 1 if now - self._last_failure > self._period else self._failures + 1
        self._last_failure = now
        if child.ran:
            self._crashes.append(now)
        else:
            self._failed_starts += 1
        while self._crashes and self._crashes[0] < now - self._period:
            self._crashes.popleft()
        fatal = self._fatal_in(error)
        too_often = len(self._crashes) > self._intensity or self._failed_starts >= len(BACK_OFF)
        give_up = fatal is not None or too_often
        restart = "restart it and the children after it" + (f" in {self._pause:g} s" if self._pause else "")
        self._record(
            "child.crashed",
            child=child.name,
            error=describe(error),
            place=place(error),
            decision="give up" if give_up else restart,
        )
        if fatal is not None:
            raise fatal
        if give_up:
            raise GaveUp(f"{self.name}: {child.name} and others crashed {self._failures} times") from error

    def _fatal_in(self, error: BaseException) -> Exception | None:
        """Return the error if it is fatal, or the first fatal error of a group."""
        if not is_group(error):
            return error if isinstance(error, self._fatal) else None
        return next((fatal for inner in error.exceptions if (fatal := self._fatal_in(inner)) is not None), None)

    def end_grace(self) -> None:
        """Shorten the grace of every child. They still stop in order."""
        for child in self.children:
            child.end_grace()

    def snapshot(self) -> dict[str, object]:
        """Return the tree as an operator sees it."""
        return {"name": self.name, "children": [child.snapshot() for child in self.children]}

    async def _start(
        self, child: Child, nursery: trio.Nursery, send: trio.MemorySendChannel[tuple[Child, Exception]]
    ) -> None:
        await child.start(nursery, send)
        self._record("child.started", child=child.name, incarnation=child.starts)

    async def _stop(self, children: list[Child]) -> None:
        for child in reversed(children):
            if child.phase is not ChildPhase.STOPPED:
                orderly = await child.stop()
                self._record(
                    "child.stopped", child=child.name, error=describe(child.error) if child.error else None,
                    decision="in order" if orderly else "cancelled after the grace period",
                )  # fmt: skip


async def _cancel_when(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()

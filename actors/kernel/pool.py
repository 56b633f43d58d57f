"""A pool: all actors of one kind, and its parts.

`MailboxWriter` puts messages into mailboxes, the `Drainer` takes the turns, `Activation` loads incarnations, `Recovery`
decides what happens after a crash, `Passivation` puts idle actors to sleep, and `WorkInProgress` knows the turns and
loads that wait.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio

from .activation import Activation
from .actor import Turn
from .cell import QUARANTINED, RESTING, Cell, Incarnation
from .drainer import Drainer
from .errors import Stopping
from .mailbox_writer import MailboxWriter
from .message import Address, Envelope, Message
from .passivation import Passivation, SharedBound
from .pool_context import PoolContext, PoolServices
from .recovery import Recovery, RestartPolicy, retire
from .watchdog import Running, look_at_work
from .work import Work, WorkInProgress

IDLE = 600.0  # seconds without a message until an actor goes to sleep


class ActorPool:
    """The cells of one kind of actor. It starts and stops their drainer, and does the housekeeping."""

    __slots__ = (
        "_activation", "_passivation", "_queue", "_record", "_turns", "_work", "cells", "crowd", "drainer", "kind",
        "mailbox_writer", "recovery",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        make: Callable[[Cell], Incarnation],
        turns: dict[type[Message[object]], Turn],
        services: PoolServices,
        *,
        policy: RestartPolicy | None = None,
        most_awake: int = 100_000,
        idle: float = IDLE,
        bound: SharedBound | None = None,
    ) -> None:
        context = PoolContext(services)
        self.kind = kind
        self.cells = context.cells
        self.crowd = context.crowd
        self._queue = context.queue
        self._record = services.record
        self._turns = turns
        self._work = WorkInProgress(context)
        self._passivation = Passivation(
            self.cells, partial(retire, record=services.record), self._queue.wake,
            most_awake=most_awake, idle=idle, simulated=services.choose is not None, bound=bound,
        )  # fmt: skip
        self.mailbox_writer = MailboxWriter(context)
        self.recovery = Recovery(context, policy or RestartPolicy())
        self._activation = Activation(context, make, self._work, self.recovery)
        self.drainer = Drainer(context, turns, self._work, self.recovery, self._activation, self._passivation)

    def cell(self, key: str, now: float | None = None) -> Cell:
        """Return the cell at this key. It is made if there is none: every address is valid."""
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = Cell(Address(self.kind, key), trio.current_time() if now is None else now)
            self._passivation.add(cell)
        return cell

    def message_named(self, name: str) -> type[Message[object]] | None:
        """Return the class of the messages with a name that the actors have a turn for."""
        return next((kind for kind in self._turns if kind.__name__ == name), None)

    def handles(self, message: object) -> bool:
        """True if the actors have a turn for this message."""
        return type(message) in self._turns

    def resync(self, cell: Cell) -> None:
        """Have the actor read its rows again before it takes its next message."""
        self._queue.resync(cell)

    def cut_streams(self) -> None:
        """Let go of every subscriber: the process is about to stop."""
        for cell in list(self.cells.values()):
            cell.feed.cut_all()

    # -- running and stopping

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Give turns until `stopping` is set and all mail is handled. Every asker gets an answer.

        Actors that rest after a crash are not waited for: their askers get `Stopping`.
        """
        self._queue.closed = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.drainer.run, nursery, name=f"{self.kind}: drainer")
                task_status.started()
                await stopping.wait()
                self._queue.closed = True
                await self._work.wait_until_done()
                nursery.cancel_scope.cancel()
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Forget all actors. Waiting askers get `Stopping`."""
        self._queue.closed = True
        self._queue.clear()
        self._work.clear()
        self.recovery.clear()
        self._passivation.clear()
        cells = list(self.cells.values())
        self.cells.clear()
        for cell in cells:
            waiting = cell.mailbox.empty()
            for envelope in [cell.envelope, *waiting] if cell.envelope else waiting:
                if envelope.reply:
                    envelope.reply.give(Stopping())
            retire(cell, self._record)
            cell.feed.cut_all()

    # -- housekeeping

    def keep(self) -> None:
        """Log slow turns, crash overdue turns, end quarantines, put idle actors to sleep."""
        now = trio.current_time()
        for work in look_at_work(self._work.working, self._record, now):
            self._work.abandon(work)
            self.recovery.crash(work.cell, work.envelope, work.error)
            self._work.check_done()
        self.recovery.end_quarantines(now)
        self._passivation.look_at_listened()
        if self._passivation.run_slice(now):
            self._passivation.wake()

    @property
    def slept(self) -> int:
        """The number of times that an actor was put to sleep."""
        return self._passivation.slept

    # -- for operators

    @property
    def restarts(self) -> int:
        """The number of incarnations that have replaced another incarnation."""
        return self._activation.restarts

    def working(self) -> list[Work]:
        """Return the turns and loads that wait."""
        return list(self._work.working)

    def running(self) -> Running | None:
        """Return the turn or load that keeps the loop busy at this instant. For the watchdog's thread."""
        return self.drainer.running()

    def mark_overdue(self, envelope: Envelope) -> None:
        """Have the actor crash whose plain turn for this message is overdue. For the watchdog's thread."""
        self.drainer.overdue = envelope

    def summary(self) -> dict[str, object]:
        """Return the numbers of the pool for an operator."""
        cells = self.cells.values()
        return {
            "awake": len(cells),
            "waiting": len(self._work.working),
            "queued": len(self._queue.cells),
            "subscribers": sum(len(cell.listened) for cell in cells if cell.listened is not None),
            "troubled": [str(c.address) for c in cells if c.phase is RESTING or c.phase is QUARANTINED],
        }

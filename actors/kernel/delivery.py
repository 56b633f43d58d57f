"""Delivery: a message goes into a mailbox, or its sender is told at once why not."""

from __future__ import annotations

from collections.abc import Iterable

import trio

from .cell import READY, Cell, CellPhase
from .envelope import Envelope
from .errors import Busy, Quarantined, Stopping
from .mailbox import CROWDED
from .pool_context import PoolContext
from .portraits import facts_of


class Delivery:
    """Delivers messages to the actors of one pool. Called by the runtime; it never waits."""

    __slots__ = ("_crowd", "_queue", "_record", "_schedule")

    def __init__(self, pool: PoolContext) -> None:
        self._queue = pool.queue
        self._schedule = pool.queue.schedule
        self._crowd = pool.crowd
        self._record = pool.around.record

    def post(self, cell: Cell, envelope: Envelope) -> None:
        """Put a message into a mailbox."""
        if envelope.reply is not None:
            cell.last_used = trio.current_time()
        if self._queue.closed or cell.phase is CellPhase.QUARANTINED:
            turn_away(cell, envelope, stopping=self._queue.closed)
        elif not cell.mailbox.room(envelope):
            self._overflow(cell, envelope)
        else:
            cell.mailbox.append(envelope)
            if len(cell.mailbox) >= CROWDED:
                self._crowd.note(cell)
        self._schedule(cell)

    def post_to_all(self, cells: Iterable[Cell], envelope: Envelope) -> None:
        """The same for a hint and many mailboxes, most of them empty: the fan-out's inner loop."""
        queue = self._queue
        take_in_turn = queue.cells.append
        for cell in cells:
            if cell.queued or cell.phase is not READY or queue.closed:
                self.post(cell, envelope)
            else:  # as `post` does, without a call
                cell.mailbox.append(envelope)
                cell.queued = True
                take_in_turn(cell)
        queue.wake()

    def post_control(self, cell: Cell, envelope: Envelope) -> None:
        """Put a control message before all others."""
        cell.last_used = trio.current_time()
        if self._queue.closed or cell.phase is CellPhase.QUARANTINED:
            turn_away(cell, envelope, stopping=self._queue.closed)
        else:
            cell.mailbox.put_control(envelope)
        self._schedule(cell)

    def _overflow(self, cell: Cell, envelope: Envelope) -> None:
        asked = envelope.reply is not None
        if asked or not cell.mailbox.resync:
            decision = "refused" if asked else "reload from rows"
            self._record("mailbox.full", **facts_of(cell, envelope), decision=decision)
        if envelope.reply is not None:
            envelope.reply.give(Busy(str(cell.address)))
        else:
            cell.mailbox.collapse()


def turn_away(cell: Cell, envelope: Envelope, *, stopping: bool) -> None:
    """Refuse a message. A hint is dropped: the pool stops, or the actor in quarantine will read its rows anew."""
    if envelope.reply is not None:
        envelope.reply.give(Stopping() if stopping else Quarantined(str(cell.address)))

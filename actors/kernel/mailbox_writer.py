"""Writes a message into a mailbox, or refuses it at once with an error for its sender."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from operator import attrgetter

import trio

from .cell import READY, Cell, CellPhase, facts_of
from .errors import Busy, Quarantined, Stopping
from .mailbox import CROWDED
from .message import Envelope
from .pool_context import PAUSE, PoolContext

# The most deferred messages of an actor, and the range in which actors differ, so that not all take theirs at the same
# time. The memory of deferred messages is not counted in the setting `timeline_memory`, which would cost every post a
# look at the memory of each: 5,000 homes with 31 different posts each hold 103 MiB.
MOST_DEFERRED = 32
SPREAD = 16


class MailboxWriter:
    """Writes messages into the mailboxes of one pool. Called by the runtime; it never waits."""

    __slots__ = ("_choose", "_crowd", "_queue", "_record", "_schedule")

    def __init__(self, pool: PoolContext) -> None:
        self._queue = pool.queue
        self._schedule = pool.queue.schedule
        self._crowd = pool.crowd
        self._record = pool.services.record
        self._choose = pool.services.choose

    def post(self, cell: Cell, envelope: Envelope) -> None:
        """Put a message into a mailbox."""
        if envelope.reply is not None:
            cell.last_used = trio.current_time()
        if self._queue.closed or cell.phase is CellPhase.QUARANTINED:
            refuse(cell, envelope, stopping=self._queue.closed)
        elif not cell.mailbox.room(envelope):
            self._overflow(cell, envelope)
        else:
            cell.mailbox.append(envelope)
            if len(cell.mailbox) >= CROWDED:
                self._crowd.note(cell)
        self._schedule(cell)

    def post_to_all(self, cells: Iterable[Cell], envelope: Envelope) -> None:
        """Put a hint into many mailboxes, most of them empty: the fan-out's inner loop.

        A message that can wait is only put into the mailboxes of actors at rest that have no subscribers. They take it
        when another message arrives, or when enough messages for many turns in a row are deferred. In a row of turns,
        the actor's memory is in the processor's caches; loading it is most of the cost of a turn. Turns at once would
        cost a post 9% more CPU with 400 homes awake, and 50% more with 2,000.
        """
        queue = self._queue
        take_in_turn = queue.cells.append
        waits = envelope.can_wait and not envelope.origin.trace
        kept = envelope.deferred() if waits else envelope
        for place, cell in enumerate(cells):
            if cell.queued or cell.phase is not READY or queue.closed:
                self.post(cell, envelope)
                continue
            # as `post` does, without a call
            mailbox = cell.mailbox
            # Actors that get the same messages do not all take their turns after the same message.
            before = len(mailbox) + place % SPREAD
            if waits and before + 1 < MOST_DEFERRED and not cell.listened and self._defers(cell):
                mailbox.append(kept)
                continue
            mailbox.append(envelope)
            cell.queued = True
            take_in_turn(cell)
        queue.wake()

    def post_control(self, cell: Cell, envelope: Envelope) -> None:
        """Put a control message before all others."""
        cell.last_used = trio.current_time()
        if self._queue.closed or cell.phase is CellPhase.QUARANTINED:
            refuse(cell, envelope, stopping=self._queue.closed)
        else:
            mailbox = cell.mailbox
            if cell.phase is READY and not cell.listened and not mailbox.urgent:
                # A subscriber must not see deferred messages from before its subscription, also if their turn is now.
                mailbox.urgent = sum(1 for _ in takewhile(attrgetter("can_wait"), mailbox))
            mailbox.put_control(envelope)
        self._schedule(cell)

    def _defers(self, cell: Cell) -> bool:
        """True if a turn that can wait is deferred. In simulation this is a choice."""
        return self._choose is None or self._choose((str(cell.address), PAUSE)) == 1

    def _overflow(self, cell: Cell, envelope: Envelope) -> None:
        asked = envelope.reply is not None
        if asked or not cell.mailbox.resync:
            decision = "refused" if asked else "reload from rows"
            self._record("mailbox.full", **facts_of(cell, envelope), decision=decision)
        if envelope.reply is not None:
            envelope.reply.give(Busy(str(cell.address)))
        else:
            cell.mailbox.collapse()


def refuse(cell: Cell, envelope: Envelope, *, stopping: bool) -> None:
    """Refuse a message. A hint is dropped: the pool stops, or the actor in quarantine will read its rows anew."""
    if envelope.reply is not None:
        envelope.reply.give(Stopping() if stopping else Quarantined(str(cell.address)))

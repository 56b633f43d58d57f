"""The supervised shell of an actor, its description for the log, and the back pressure of crowded actors.

The mailbox, the subscribers and the record of crashes belong to the cell; state belongs to its incarnation. An idle
cell has no task.

An actor is crowded when its mailbox is half full, or when subscribers that could read at once are far behind in its
feed: senders of many messages should wait. Subscribers whose clients do not read are not counted. Actors that wait
after a crash are not crowded: waiting would not help them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from enum import Enum, auto
from typing import Protocol

from .feed import Feed, Subscriber
from .mailbox import CROWDED, Mailbox
from .message import Address, Envelope


class CellPhase(Enum):
    """The state that a cell is in."""

    EMPTY = auto()  # no incarnation: the next message or restart makes an incarnation
    LOADING = auto()  # an incarnation is being filled from rows
    READY = auto()  # between turns
    WAITING = auto()  # inside a turn that waits, in a task of its own
    RESTING = auto()  # crashed, waiting for its back-off to pass
    QUARANTINED = auto()  # crashed too often; answers with 503 until released


# Looking up a member of an enumeration costs as much as a call, and these are looked up at every delivery,
# or of every cell when an operator looks.
EMPTY, READY = CellPhase.EMPTY, CellPhase.READY
RESTING, QUARANTINED = CellPhase.RESTING, CellPhase.QUARANTINED
AT_REST = (READY, EMPTY)


class Incarnation(Protocol):
    """The methods that the kernel calls on the actor inside a cell. Every `Actor` has these methods."""

    async def load(self) -> None: ...

    def subscribed(self, subscriber: Subscriber) -> None: ...

    def retired(self) -> None: ...

    def detach(self) -> None: ...

    def describe(self) -> str: ...


class Asker(Protocol):
    """A waiting turn that may ask other actors: the part of `Work` that cycles of asks are found by."""

    cell: Cell
    waits_for: Cell | None


class Cell:
    """The cell of one address: at most one incarnation, one mailbox, one feed."""

    __slots__ = (
        "actor", "address", "crashes", "envelope", "incarnation", "last_used", "listened", "mailbox", "phase", "queued",
        "ranked_at", "release_at", "work",
    )  # fmt: skip

    def __init__(self, address: Address, now: float = 0.0) -> None:
        self.address = address
        self.mailbox = Mailbox()
        self.listened: Feed | None = None  # the feed, made at the first use
        self.phase = EMPTY
        self.actor: Incarnation | None = None
        self.incarnation = 0
        self.crashes: deque[float] | None = None  # the times of recent crashes; made at the first crash
        self.envelope: Envelope | None = None  # the message of the current turn
        self.queued = False  # already in its pool's run queue
        self.last_used = now  # when it was last asked; hints do not count, so that they keep no actor awake
        self.release_at = 0.0
        self.ranked_at = now  # the time of the last use by which the heap of `passivation.py` ranks it; may be outdated
        self.work: Asker | None = None  # the current waiting turn or load

    def __lt__(self, other: Cell) -> bool:
        """Compare by last use, for the order of passivation."""
        return self.ranked_at < other.ranked_at

    @property
    def feed(self) -> Feed:
        """The feed, made at the first use to keep idle actors small."""
        if self.listened is None:
            self.listened = Feed()
        return self.listened

    @property
    def subscribers(self) -> int:
        return len(self.listened) if self.listened is not None else 0

    @property
    def idle(self) -> bool:
        """True if nothing would be lost by forgetting this cell now."""
        rests = self.phase in AT_REST and not self.queued
        return rests and (not self.mailbox or self.defers) and not self.mailbox.resync and not self.subscribers

    @property
    def defers(self) -> bool:
        """True if all its messages can wait. They may be dropped, because the rows contain all that they are about."""
        return self.phase is READY and not self.queued and self.envelope is None and bool(self.mailbox)

    @property
    def depth(self) -> int:
        """The number of messages that the actor should take soon."""
        return 0 if self.defers else len(self.mailbox)

    @property
    def is_crowded(self) -> bool:
        """True if the actor has so much to do that senders of many messages should wait."""
        # Actors that wait after a crash are left out: senders would wait for long, and the actor reads its rows anyway.
        if self.phase is RESTING or self.phase is QUARANTINED:
            return False
        return len(self.mailbox) >= CROWDED or (self.listened is not None and self.listened.is_crowded)

    def crashes_since(self, instant: float) -> int:
        """Return the number of crashes since `instant`. Older crashes are forgotten."""
        if self.crashes is None:
            return 0
        while self.crashes and self.crashes[0] < instant:
            self.crashes.popleft()
        return len(self.crashes)


def facts_of(cell: Cell, envelope: Envelope | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "actor": str(cell.address), "incarnation": cell.incarnation, "depth": len(cell.mailbox)
    }  # fmt: skip
    if envelope is not None:
        facts |= {
            "message": envelope.kind, "message_id": envelope.id, "request_id": envelope.origin.request_id,
            "causes": list(envelope.origin.causes),
        }  # fmt: skip
        if envelope.origin.trace:
            facts["trace_id"] = envelope.origin.trace_id
    return facts


def held_state(actor: Incarnation | None) -> str:
    """Return the actor's own description. An error in it does not harm the actor."""
    try:
        return actor.describe() if actor is not None else ""
    except BaseException as error:
        return f"can't be described: {type(error).__name__}"


class CrowdedCells:
    """The crowded cells of a pool. A cell stays in the set until a check finds that it is no longer crowded."""

    def __init__(self) -> None:
        self._cells: dict[Cell, None] = {}

    def __bool__(self) -> bool:
        return bool(self._cells)

    def note(self, cell: Cell) -> None:
        """Remember a crowded cell."""
        self._cells[cell] = None

    def among(self, cells: Container[Cell]) -> bool:
        """True if any of these cells is crowded."""
        for cell in list(self._cells):
            if not cell.is_crowded:
                del self._cells[cell]
            elif cell in cells:
                return True
        return False

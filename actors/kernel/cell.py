"""The supervised shell of an actor.

Mailbox, subscribers and the record of crashes belong to the cell; state belongs to the incarnation inside. An idle cell
has no task.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from typing import TYPE_CHECKING

from .address import Address
from .feed import Feed
from .mailbox import Mailbox

if TYPE_CHECKING:
    import trio

    from .actor import Actor
    from .envelope import Envelope


class Phase(Enum):
    """What a cell is doing."""

    EMPTY = auto()  # no incarnation: the next message or restart makes one
    LOADING = auto()  # an incarnation is being filled from rows
    READY = auto()  # between turns
    WAITING = auto()  # inside a turn that waits, in a task of its own
    RESTING = auto()  # crashed, waiting for its back-off to pass
    QUARANTINED = auto()  # crashed too often; answers with 503 until released


class Cell:
    """One address: at most one incarnation, one mailbox, one feed."""

    __slots__ = (
        "actor", "address", "crashes", "envelope", "feed", "incarnation", "last_used", "mailbox", "phase", "queued",
        "release_at", "scope", "started_at", "task", "waits_for",
    )  # fmt: skip

    def __init__(self, address: Address) -> None:
        self.address = address
        self.mailbox = Mailbox()
        self.feed = Feed()
        self.phase = Phase.EMPTY
        self.actor: Actor | None = None
        self.incarnation = 0
        self.crashes: deque[float] | None = None  # when it crashed lately; made at the first crash
        self.envelope: Envelope | None = None  # the message of the current turn
        self.queued = False  # already in its pool's run queue
        self.last_used = 0.0
        self.release_at = 0.0
        self.started_at = 0.0  # when the current waiting turn began
        self.scope: trio.CancelScope | None = None  # around the current waiting turn
        self.task: trio.lowlevel.Task | None = None  # the current waiting turn's task
        self.waits_for: Cell | None = None  # the cell an ask of the current turn waits for

    @property
    def idle(self) -> bool:
        """Nothing would be lost if this cell were forgotten now."""
        at_rest = self.phase in (Phase.READY, Phase.EMPTY)
        return at_rest and not self.mailbox and not self.queued and not len(self.feed)

    def crashes_since(self, instant: float) -> int:
        """How often it crashed since `instant`; older crashes are forgotten."""
        if self.crashes is None:
            return 0
        while self.crashes and self.crashes[0] < instant:
            self.crashes.popleft()
        return len(self.crashes)

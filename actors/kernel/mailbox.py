"""A bounded mailbox with two lanes.

The control lane (subscribe, inspect) goes before the user lane and is not bounded: only the runtime writes to it. When
the user lane is full, an ask is refused and hints collapse into one flag, `resync`: the actor will be loaded from rows
again, which says everything the hints would have said.
"""

from __future__ import annotations

from .envelope import Envelope

CAPACITY = 256
CROWDED = CAPACITY // 2  # the length from which those who tell many wait: see `crowd.py`
# What asks leave free for hints: were a mailbox full of asks, every hint would have it loaded anew before the next ask.
KEPT_FOR_HINTS = 64


class Mailbox(list[Envelope]):
    """What one actor still has to do, the control lane in front.

    A list, because every delivery asks whether it is empty and how long it is, and because an empty deque weighs 600
    bytes; moving 256 entries up by one is no work.
    """

    __slots__ = ("resync", "urgent")

    def __init__(self) -> None:
        super().__init__()
        self.urgent = 0  # how many of them are in the control lane
        self.resync = False

    def room(self, envelope: Envelope) -> bool:
        """Whether the user lane takes this one too."""
        limit = CAPACITY if envelope.reply is None else CAPACITY - KEPT_FOR_HINTS
        return len(self) - self.urgent < limit

    def put_control(self, envelope: Envelope) -> None:
        self.insert(self.urgent, envelope)
        self.urgent += 1

    def put_back(self, envelope: Envelope) -> None:
        """Back to the front of the user lane: this message is tried once more."""
        self.insert(self.urgent, envelope)

    def take(self) -> Envelope:
        if self.urgent:
            self.urgent -= 1
        return self.pop(0)

    def withdraw(self, envelope: Envelope) -> None:
        """Take out the message of an asker that has left, if it is still here."""
        if envelope in self:
            place = self.index(envelope)
            del self[place]
            self.urgent -= place < self.urgent

    @property
    def wanted(self) -> bool:
        """True if a message is here whose asker has not left."""
        return any(envelope.reply is None or not envelope.reply.left for envelope in self)

    def collapse(self) -> None:
        """All hints become one: read the rows again."""
        self[:] = [envelope for envelope in self if envelope.reply is not None]
        self.resync = True

    def empty(self) -> list[Envelope]:
        """Everything that was waiting, now gone from here."""
        waiting = list(self)
        self.clear()
        self.urgent = 0
        return waiting

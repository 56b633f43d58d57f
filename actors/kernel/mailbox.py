"""A bounded mailbox with two queues.

The control queue (subscribe, inspect) goes before the user queue and is not bounded: only the runtime writes to it.
When the user queue is full, an ask is refused, and hints are replaced by one flag, `resync`: the actor is loaded again
from rows, which contain everything that the hints were about.
"""

from __future__ import annotations

from .message import Envelope

# Messages. When so many wait, asks are refused, and hints are replaced by one reload from the database.
CAPACITY = 256
CROWDED = CAPACITY // 2  # senders of many messages wait from this length on: see `cell.py`
# Places that asks leave free for hints. In a mailbox full of asks, every hint would cause a reload before the next ask.
KEPT_FOR_HINTS = 64


class Mailbox(list[Envelope]):
    """The messages that wait for one actor, the control queue first.

    It is a list, because every delivery needs its length, and because an empty deque takes 600 bytes. Moving 256
    entries up by one costs next to nothing.
    """

    __slots__ = ("resync", "urgent")

    def __init__(self) -> None:
        super().__init__()
        self.urgent = 0  # how many of them are in the control queue
        self.resync = False

    def room(self, envelope: Envelope) -> bool:
        """True if the user queue has room for this message."""
        limit = CAPACITY if envelope.reply is None else CAPACITY - KEPT_FOR_HINTS
        return len(self) - self.urgent < limit

    def put_control(self, envelope: Envelope) -> None:
        self.insert(self.urgent, envelope)
        self.urgent += 1

    def put_back(self, envelope: Envelope) -> None:
        """Put a message back to the front of the user queue, for another try."""
        self.insert(self.urgent, envelope)

    def take(self) -> Envelope:
        if self.urgent:
            self.urgent -= 1
        return self.pop(0)

    def withdraw(self, envelope: Envelope) -> None:
        """Remove the message of an asker that has left, if it is still here."""
        if envelope in self:
            place = self.index(envelope)
            del self[place]
            self.urgent -= place < self.urgent

    @property
    def wanted(self) -> bool:
        """True if there is a message whose asker has not left."""
        return any(envelope.reply is None or not envelope.reply.left for envelope in self)

    def collapse(self) -> None:
        """Replace all hints by one reload from rows."""
        self[:] = [envelope for envelope in self if envelope.reply is not None]
        self.resync = True

    def empty(self) -> list[Envelope]:
        """Remove and return all messages."""
        waiting = list(self)
        self.clear()
        self.urgent = 0
        return waiting

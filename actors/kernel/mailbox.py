"""A bounded mailbox with two lanes.

The control lane (subscribe, inspect) goes before the user lane and is not bounded: only the runtime writes to it. When
the user lane is full, an ask is refused and hints collapse into one flag, `resync`: the actor will be loaded from rows
again, which says everything the hints would have said.
"""

from __future__ import annotations

from collections import deque

from .envelope import Envelope

CAPACITY = 256


class Mailbox:
    """What one actor still has to do."""

    __slots__ = ("_control", "_user", "resync")

    def __init__(self) -> None:
        self._control: deque[Envelope] | None = None  # made when needed: an idle actor should weigh little
        self._user: deque[Envelope] = deque()
        self.resync = False

    def __len__(self) -> int:
        return len(self._user) + (len(self._control) if self._control else 0)

    @property
    def full(self) -> bool:
        return len(self._user) >= CAPACITY

    def put(self, envelope: Envelope) -> None:
        self._user.append(envelope)

    def put_control(self, envelope: Envelope) -> None:
        if self._control is None:
            self._control = deque()
        self._control.append(envelope)

    def put_back(self, envelope: Envelope) -> None:
        """Back to the front of the lane: this message is tried once more."""
        self._user.appendleft(envelope)

    def take(self) -> Envelope:
        return self._control.popleft() if self._control else self._user.popleft()

    def clear(self) -> list[Envelope]:
        """Everything that was waiting, now gone from here."""
        waiting = [*(self._control or ()), *self._user]
        self._control = None
        self._user.clear()
        return waiting

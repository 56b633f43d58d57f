"""The publications of commits to streams, and which of them are not in the log of changes yet.

Turns and the relay notify awake timelines of a change as soon as it is committed. The relay writes it into the log
(`storage/stream_log.py`) when it deletes the promise, many at once. So the log lags behind by a moment, and the ids of
events name the events of that moment (`kernel/resumption.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TypeVar

import trio

from ..kernel import Event, Ids
from ..kernel.resumption import Publication

E = TypeVar("E", bound=Event)

# For this time an interrupted client can read the events that it missed.
LOG_KEPT = timedelta(days=1)

# The number of the current publication in this task; 0 outside of publications.
CURRENT = ContextVar("CURRENT", default=0)


class Publications:
    """The publications of this process, numbered in their order. `open` publications are not in the log yet."""

    def __init__(self, ids: Ids) -> None:
        self.begun = 0  # the number of the latest publication
        self.open: dict[int, None] = {}
        self._ids = ids
        self._position = 0
        self._changed = trio.Event()

    @property
    def position(self) -> int:
        """The position up to which the log is complete. At first it is above all ids in the rows at start."""
        if not self._position:
            self._position = self._ids.next()
        return self._position

    @property
    def oldest(self) -> int:
        """The number below which all publications are in the log."""
        return next(iter(self.open), self.begun + 1)

    @contextmanager
    def publication(self) -> Generator[int]:
        """A context for one publication. It stays open until `end` is called with its number."""
        self.begun += 1
        self.open[self.begun] = None
        before = CURRENT.set(self.begun)
        try:
            yield self.begun
        finally:
            CURRENT.reset(before)

    def with_position(self, event: E) -> E:
        """Set the position and the publication of an event. Return the event."""
        object.__setattr__(event, "publication", Publication(self.position, CURRENT.get(), self.oldest))
        return event

    def end(self, numbers: Iterable[int], position: int = 0) -> None:
        """End publications. Their events are in the log up to `position`, or will be published again."""
        self._position = max(self._position, position)
        for number in numbers:
            self.open.pop(number, None)
        self.go_on()

    def go_on(self) -> None:
        """Wake the tasks in `changed`."""
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        """Wait for the next change of a publication."""
        await self._changed.wait()

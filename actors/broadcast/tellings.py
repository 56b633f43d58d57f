"""The tellings to streams that are not in the log of changes yet.

Turns and the relay tell awake timelines of a change as soon as it is committed, and the relay writes it into the log
(`storage/stream_log.py`) when it deletes the promise, many at once. So the log lags behind by a moment, and ids of
events say what was told in that moment (`kernel/resumption.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TypeVar

import trio

from ..kernel import Event, Ids
from ..kernel.resumption import Telling

E = TypeVar("E", bound=Event)

# For this time a client that was interrupted is shown what it missed.
LOG_KEPT = timedelta(days=1)

# The number of the telling that is going on in this task.
CURRENT = ContextVar("CURRENT", default=0)


class Tellings:
    """The tellings of this process, by numbers that rise. `open` are those that are not in the log yet."""

    def __init__(self, ids: Ids) -> None:
        self.begun = 0  # the latest one
        self.open: dict[int, None] = {}
        self._ids = ids
        self._position = 0
        self._changed = trio.Event()

    @property
    def position(self) -> int:
        """The position of the log up to which all was told. At first above all ids that were in the rows at start."""
        if not self._position:
            self._position = self._ids.next()
        return self._position

    @property
    def oldest(self) -> int:
        """The number below which all tellings are in the log."""
        return next(iter(self.open), self.begun + 1)

    @contextmanager
    def telling(self) -> Generator[int]:
        """A context for one telling. When it ends, the log has what its events tell."""
        self.begun += 1
        self.open[self.begun] = None
        before = CURRENT.set(self.begun)
        try:
            yield self.begun
        finally:
            CURRENT.reset(before)

    def told(self, event: E) -> E:
        """Mark an event as told now."""
        object.__setattr__(event, "telling", Telling(self.position, CURRENT.get(), self.oldest))
        return event

    def end(self, numbers: Iterable[int], position: int = 0) -> None:
        """End tellings: what they told is in the log up to a position, or will be told again."""
        self._position = max(self._position, position)
        for number in numbers:
            self.open.pop(number, None)
        self.go_on()

    def go_on(self) -> None:
        """Wake those who wait for a change."""
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        """Wait until some telling goes on."""
        await self._changed.wait()

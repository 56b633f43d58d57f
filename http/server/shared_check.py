"""One run of a slow check, for all who ask at about the same time.

The check runs in a task of its own: those who ask wait for it no longer than they can, and a check that hangs is not
begun again. So a database that does not answer holds one task, and not each request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio

T = TypeVar("T")


class SharedCheck(Generic[T]):
    """Calls `check` when a caller asks, and keeps what it returned or raised for `kept` seconds."""

    def __init__(self, check: Callable[[], Awaitable[T]], *, kept: float, patience: float) -> None:
        self._check = check
        self._kept = kept
        self._patience = patience
        self._wanted = trio.Event()
        self._known = trio.Event()
        self._found: T | None = None
        self._error: Exception | None = None
        self._known_until = 0.0

    async def found(self) -> T | None:
        """Return or raise what a check did now or a moment ago; None if it takes longer than `patience` seconds."""
        if trio.current_time() >= self._known_until:
            self._wanted.set()
            with trio.move_on_after(self._patience) as waiting:
                await self._known.wait()
            if waiting.cancelled_caught:
                return None
        if self._error is not None:
            raise self._error
        return self._found

    async def run(self) -> None:
        """Run the check when it is wanted, for ever."""
        self._known_until = 0.0
        while True:
            await self._wanted.wait()
            self._found, self._error = None, None
            try:
                self._found = await self._check()
            except Exception as error:  # for those who ask: the next check may work
                self._error = error
            self._known_until = trio.current_time() + self._kept
            self._known.set()
            self._wanted, self._known = trio.Event(), trio.Event()

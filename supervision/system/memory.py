"""Gives memory back to the system when many actors have gone to sleep.

The allocator of the C library keeps what was freed, unless it lies at the end of its heap. `malloc_trim` gives back
every free page. Python gives back its own arenas by itself, as soon as nothing is left in one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import trio

INTERVAL = 5.0  # seconds between two looks
MANY = 200  # actors that have gone to sleep since the last time; fewer are not worth it


class MemoryReturn:
    """Calls `trim` after many actors have gone to sleep. `slept` returns how many have so far."""

    def __init__(self, slept: Callable[[], int], trim: Callable[[], object] | None = None) -> None:
        self._slept = slept
        self._trim = trim or _trim

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Look at intervals. While actors go on sleeping, the next look will find more."""
        task_status.started()
        returned = before = self._slept()
        while not stopping.is_set():
            with trio.move_on_after(INTERVAL):
                await stopping.wait()
            slept = self._slept()
            if slept - returned >= MANY and slept == before:
                # In a thread, because it takes some milliseconds for each 100 MiB.
                await trio.to_thread.run_sync(self._trim)
                returned = slept
            before = slept


def _trim() -> None:
    """Give the free pages of the C library's heaps back. Not every C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

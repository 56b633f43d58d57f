"""The delays of the event loop, measured while metrics are on, and the pauses of Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import perf_counter

import trio

from ...storage.engine.histogram import Histogram

LOOK_EVERY = 0.25  # seconds
GENERATIONS = 3


class LoopLag:
    """Seconds by which a task wakes later than it asked for: how long every other task waits too."""

    def __init__(self) -> None:
        self.seconds = Histogram()

    async def run(self) -> None:
        """Measure for ever."""
        while True:
            asked = trio.current_time() + LOOK_EVERY
            await trio.sleep_until(asked)
            self.seconds.observe(max(trio.current_time() - asked, 0.0))


class CollectorPauses:
    """Seconds that each run of the garbage collector took, by generation."""

    def __init__(self) -> None:
        self.seconds = [Histogram() for _ in range(GENERATIONS)]
        self._began = 0.0

    def total(self) -> float:
        """Return the seconds that all runs took together."""
        return sum(generation.sum for generation in self.seconds)

    @contextmanager
    def measured(self) -> Generator[None]:
        """Measure until the block ends."""
        gc.callbacks.append(self._note)
        try:
            yield
        finally:
            gc.callbacks.remove(self._note)

    def _note(self, phase: str, about: Mapping[str, int]) -> None:
        if phase == "start":
            self._began = perf_counter()
        else:
            self.seconds[about["generation"]].observe(perf_counter() - self._began)

"""The simulated time of day: Trio's virtual seconds, counted from a fixed morning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from trio.testing import MockClock

MORNING = datetime(2026, 5, 4, 8, tzinfo=UTC)


class VirtualClock:
    """The kernel's Clock on Trio's mock time, so that rows and deadlines agree on the time."""

    def __init__(self, clock: MockClock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        return MORNING + timedelta(seconds=self._clock.current_time())

    def monotonic(self) -> float:
        return self._clock.current_time()

"""Circuit breakers: a server that fails gets no requests for a while, so that it costs no time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cachetools import LRUCache

FAILURES = 5  # in a row, after which requests to a service are paused
FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(minutes=30)
SERVICES = 4096  # that are remembered


@dataclass(slots=True)
class ServiceState:
    """The recent failures of a server. `closed_until` is the time of the next try."""

    failures: int = 0
    pause: timedelta = FIRST_PAUSE
    closed_until: datetime | None = None


class Breaker:
    """The states of failing servers, by their hosts. Working servers have no state."""

    def __init__(self) -> None:
        self._services: LRUCache[str, ServiceState] = LRUCache(SERVICES)

    def closed_until(self, service: str, now: datetime) -> datetime | None:
        """Return the time until which requests to a service are paused; None if they are not.

        After this time a single request may pass. If it succeeds, the pause ends.
        """
        state = self._services.get(service)
        if state is None or state.closed_until is None:
            return None
        if now < state.closed_until:
            return state.closed_until
        state.closed_until = now + state.pause
        return None

    def succeeded(self, service: str) -> None:
        """Note that the service answered."""
        self._services.pop(service, None)

    def failed(self, service: str, now: datetime) -> None:
        """Note that the service did not answer, or answered with an error. Pauses double, up to a limit."""
        state = self._services.setdefault(service, ServiceState())
        state.failures += 1
        if state.failures >= FAILURES:
            state.closed_until = now + state.pause
            state.pause = min(state.pause * 2, LONGEST_PAUSE)

    def close(self, service: str, until: datetime) -> None:
        """Note that the service asked for a pause until a time."""
        state = self._services.setdefault(service, ServiceState())
        state.failures = max(state.failures, FAILURES)
        state.closed_until = until

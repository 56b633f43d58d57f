"""A breaker for each server: one that fails is left alone for a while, so that it costs no time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cachetools import LRUCache

FAILURES = 5  # in a row, after which a service is left alone
FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(minutes=30)
SERVICES = 4096  # that are remembered


@dataclass(slots=True)
class ServiceState:
    """The recent success of a server. `closed_until` is when it may be tried again."""

    failures: int = 0
    pause: timedelta = FIRST_PAUSE
    closed_until: datetime | None = None


class Breaker:
    """The known state of other servers, by their hosts. Those that work are not in it."""

    def __init__(self) -> None:
        self._services: LRUCache[str, ServiceState] = LRUCache(SERVICES)

    def closed_until(self, service: str, now: datetime) -> datetime | None:
        """Return the time until which nothing is to be sent to a service.

        When that time has come one message is let through; the next one only if it arrives.
        """
        state = self._services.get(service)
        if state is None or state.closed_until is None:
            return None
        if now < state.closed_until:
            return state.closed_until
        state.closed_until = now + state.pause
        return None

    def succeeded(self, service: str) -> None:
        """The service answered."""
        self._services.pop(service, None)

    def failed(self, service: str, now: datetime) -> None:
        """The service did not answer, or said that it is in trouble. Pauses double, up to a limit."""
        state = self._services.setdefault(service, ServiceState())
        state.failures += 1
        if state.failures >= FAILURES:
            state.closed_until = now + state.pause
            state.pause = min(state.pause * 2, LONGEST_PAUSE)

    def close(self, service: str, until: datetime) -> None:
        """The service asked to be left alone until a time."""
        state = self._services.setdefault(service, ServiceState())
        state.failures = max(state.failures, FAILURES)
        state.closed_until = until

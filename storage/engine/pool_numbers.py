"""Counts of the connection pool since the process started. It outlives the pool, which restarts after a crash."""

from __future__ import annotations

from dataclasses import dataclass, field

from .histogram import Histogram


@dataclass(slots=True)
class CallTimes:
    """Seconds that calls of a kind have waited for a connection, and that they took on it."""

    waited: Histogram = field(default_factory=Histogram)
    took: Histogram = field(default_factory=Histogram)


def _of_all_kinds() -> dict[str, CallTimes]:
    return {kind: CallTimes() for kind in ("read", "transaction", "statement")}


@dataclass(slots=True)
class PoolNumbers:
    """The times of calls by kind, the number of refused calls, and the number of lost connections."""

    times: dict[str, CallTimes] = field(default_factory=_of_all_kinds)
    refused: int = 0
    lost: int = 0

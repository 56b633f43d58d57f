"""When a crashed actor gets its next incarnation (design: five crashes in a minute, then quarantine)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Times are seconds. `back_off[n]` is the rest before the incarnation after crash n+1 of the last `period`."""

    intensity: int = 5
    period: float = 60.0
    back_off: tuple[float, ...] = (0.0, 0.1, 0.5, 2.0, 10.0)
    jitter: float = 0.2  # a rest is lengthened by up to this share, so that many actors do not come back as one
    quarantine: float = 600.0
    retries: int = 1  # how often a told message is tried again before it is parked

    def rest(self, crashes: int, chance: Callable[[], float]) -> float | None:
        """Seconds until the next incarnation after the n-th crash of the period; None: into quarantine."""
        if crashes > self.intensity:
            return None
        return self.back_off[min(crashes, len(self.back_off)) - 1] * (1 + self.jitter * chance())

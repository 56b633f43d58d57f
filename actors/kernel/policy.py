"""The time when a crashed actor gets its next incarnation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """The restart policy of a pool.

    Times are seconds. `back_off[n]` is the pause after crash n+1 of the last `period`.
    """

    intensity: int = 5
    period: float = 60.0
    back_off: tuple[float, ...] = (0.0, 0.1, 0.5, 2.0, 10.0)
    # a pause is lengthened by up to this share, so that many actors do not restart at the same time
    jitter: float = 0.2
    quarantine: float = 600.0
    retries: int = 1  # the number of further tries of a hint before it is parked

    def rest(self, crashes: int, chance: Callable[[], float]) -> float | None:
        """Return the seconds until the next incarnation after the n-th crash of the period. None means quarantine."""
        if crashes > self.intensity:
            return None
        return self.back_off[min(crashes, len(self.back_off)) - 1] * (1 + self.jitter * chance())

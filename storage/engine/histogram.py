"""Histograms that hot code writes: how many values were at most each of some bounds, and the sum of all of them.

Prometheus' own client takes several microseconds for each value, with a lock and a lookup of labels. This takes a
fraction of one, and is read when metrics are asked for.
"""

from __future__ import annotations

from bisect import bisect_left

# Seconds. From an answer out of memory to a request that its client gives up.
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Histogram:
    """Counts of values between bounds; the last count is of values above all bounds."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

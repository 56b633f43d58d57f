"""The clock of leases, which also counts the time for which the machine was suspended.

Trio's clock, which is CLOCK_MONOTONIC, stands still in that time on Linux. The leases of a machine that wakes would
look fresh for a second, and it would answer from a memory that has missed everything since. So leases are compared on
CLOCK_BOOTTIME, and have ended at the moment at which the machine wakes.

A virtual machine that its host has stopped can't know of the pause by any of its clocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

# Seconds since any moment in the past.
LeaseClock: TypeAlias = Callable[[], float]

# The systems that do not have CLOCK_BOOTTIME have no other clock that fits better.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def lease_time() -> float:
    return time.clock_gettime(CLOCK)

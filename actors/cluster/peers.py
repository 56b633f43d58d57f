"""The state of another node: which of its bundles were applied here, and until when no further bundle can be missing.

A node may answer from memory only while it has applied all facts of every other node. So it asks each of them again and
again for the number of its last bundle (`PeerPoll`). An answer is valid for `VALID` seconds, counted from when the poll
was sent: after a later bundle the other node waits for as long, unless this node acknowledges it. No clocks are
compared, only intervals.

These leases, and those of the members, are on a clock that also counts the time for which the machine was suspended.
Trio's clock, CLOCK_MONOTONIC, stands still in that time on Linux: the leases would look fresh for a second after the
machine has woken, and it would answer from a memory that has missed everything since. A virtual machine that its host
has stopped can't know of the pause by any of its clocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from .wire import Bundle, Farewell

VALID = 1.0  # seconds
# A writer waits longer than an answer is valid by this part, because clocks do not run equally fast.
DRIFT = 0.1
# Seconds that a missing bundle may be late. Then it counts as lost, and everything is read again from rows.
LATE = 0.5

# The clock of leases: seconds since any moment in the past.
LeaseClock: TypeAlias = Callable[[], float]

# The systems that do not have CLOCK_BOOTTIME have no other clock that fits better.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def lease_time() -> float:
    return time.clock_gettime(CLOCK)


@dataclass(eq=False)
class Peer:
    """Another node whose row was read, by the incarnation of its process. Times are on the clock of leases."""

    name: str
    incarnation: int
    is_met: bool = False  # it has answered a poll
    admits: bool = False  # it hears from this node, which may therefore change rows
    is_required: bool = False  # it may change rows, so this node must hear from it
    is_skipping: bool = False  # everything is read again in place of its lost bundles
    through: int = 0  # all of its bundles up to this number were applied
    bundles: dict[int, Bundle] = field(default_factory=dict[int, "Bundle"])  # later bundles that have come
    is_applying: bool = False
    farewell: Farewell | None = None  # it leaves in order
    complete_until: float = 0.0
    missing_since: float | None = None
    answered_at: float = -inf  # the time of the last answer to one of its polls
    acknowledged: int = 0  # it has applied all bundles of this node up to this number

    @property
    def process(self) -> str:
        """The name of the process, which differs from those of earlier processes of the node."""
        return f"{self.name}/{self.incarnation}"

    @property
    def may_answer_until(self) -> float:
        """The time until which the node may answer from memory without the bundles that it has not got."""
        return self.answered_at + VALID * (1 + DRIFT)

    @property
    def has_told_all(self) -> bool:
        """True if it has left in order, and all of its facts were applied here."""
        return self.farewell is not None and self.through >= self.farewell.last

    def hears(self, at: float, last: int, now: float) -> bool:
        """Take the answer to a poll that was sent `at` a time. Return True if bundles are lost."""
        if self.through >= last:
            self.complete_until = max(self.complete_until, at + VALID)
            self.missing_since = None
            return False
        if all(number in self.bundles for number in range(self.through + 1, last + 1)):
            return False  # they are being applied
        if self.missing_since is None:
            self.missing_since = now
        return now - self.missing_since > LATE

    def has_applied(self, bundle: Bundle) -> None:
        """Count a bundle as applied, unless later ones were skipped meanwhile."""
        self.bundles.pop(bundle.number, None)
        self.through = max(self.through, bundle.number)

    def skip_to(self, last: int) -> None:
        """Count all bundles up to a number as applied: everything was read again since it was sent."""
        self.through = max(self.through, last)
        self.missing_since = None
        self.bundles = {number: bundle for number, bundle in self.bundles.items() if number > self.through}

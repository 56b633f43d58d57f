"""Faults, at the points where a run injects them.

Code that can fail passes named points: `faults.strikes(Fault.CRASH_BEFORE, "account/1 PublishStatus")`. A plan decides
which points fail: none (`never`), by a seed (`Chance`) or by a list (`Planned`). With a list, a failing run is replayed
with fewer faults, and `sweep` makes every point fail, each in a run of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple


class Fault(Enum):
    """The kinds of faults. The value is their text in a trace, after the place."""

    CRASH_BEFORE = "crashes before its turn"
    CRASH_AFTER = "crashes after its turn"
    LOST = "loses the connection before COMMIT"
    DOUBT_DONE = "loses the connection in COMMIT, which was done"
    DOUBT_UNDONE = "loses the connection in COMMIT, which was not done"
    CONFLICT = "must try the transaction again"
    AWAY = "finds the database away for a while"
    SLOW = "is a subscriber too slow"
    DEAD = "is a subscriber that dies"
    REPEATED = "arrives twice"
    DATAGRAM_LOST = "loses a datagram"
    DATAGRAM_LATE = "brings a datagram late"
    DATAGRAM_REPEATED = "brings a datagram twice"

    # Each passed point asks for it; that of Enum is a function of Python and hashes the name.
    __hash__ = object.__hash__


class Injected(Exception):
    """An actor's crash that the simulation injected."""


class Point(NamedTuple):
    """The n-th time, counted from 1, that a fault could have happened at a place."""

    fault: Fault
    place: str
    nth: int

    def __str__(self) -> str:
        return f"{self.place} {self.fault.value} (time {self.nth})"


Plan = Callable[[Point], bool]

# Faults at a rate, which is drawn for each run, instead of a number: they spend no budget. A run has so many datagrams
# that with a common rate nearly all faults would strike datagrams.
RATES: dict[Fault, tuple[float, ...]] = {
    Fault.DATAGRAM_LOST: (0.0, 0.02, 0.2),
    Fault.DATAGRAM_LATE: (0.0, 0.02, 0.1),
    Fault.DATAGRAM_REPEATED: (0.0, 0.02, 0.1),
}


@dataclass(frozen=True, slots=True)
class Budget:
    """The highest number of faults in a run, and their kinds. Faults in `RATES` are not counted."""

    most: int
    kinds: frozenset[Fault] = frozenset(Fault)


class Chance:
    """A seeded plan that spends a budget.

    `points` is about the number of points of its kinds that a run passes, without those of faults in `RATES`.
    """

    def __init__(self, seed: int, budget: Budget, points: int) -> None:
        self._random = random.Random(f"faults/{seed}")
        self._left = budget.most
        self._kinds = budget.kinds
        self._rate = min(0.5, budget.most / max(points, 1))
        # A source of its own, so that datagrams change no other fault.
        self._datagrams = random.Random(f"datagrams/{seed}")
        drawn = {fault: self._datagrams.choice(rates) for fault, rates in RATES.items()}
        self._rates = {fault: rate for fault, rate in drawn.items() if budget.most and fault in budget.kinds}

    def __call__(self, point: Point) -> bool:
        if point.fault in RATES:
            return self._datagrams.random() < self._rates.get(point.fault, 0.0)
        if not self._left or point.fault not in self._kinds or self._random.random() >= self._rate:
            return False
        self._left -= 1
        return True


class Planned:
    """A plan of exactly these points."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._points = frozenset(points)

    def __call__(self, point: Point) -> bool:
        return point in self._points


NOTHING = Budget(0)
ANYTHING = Budget(1)


def never(point: Point) -> bool:
    """The plan without faults."""
    return False


class Faults:
    """The points that a run passed, and the faults at some of them."""

    def __init__(self, plan: Plan, note: Callable[[str, str], None]) -> None:
        self.passed: list[Point] = []
        self.struck: list[Point] = []
        self._plan = plan
        self._note = note
        self._counts: dict[Fault, dict[str, int]] = {fault: {} for fault in Fault}

    def strikes(self, fault: Fault, place: str) -> bool:
        """True if the fault happens here, this time. The caller then makes it happen."""
        counts = self._counts[fault]
        nth = counts[place] = counts.get(place, 0) + 1
        point = Point(fault, place, nth)
        self.passed.append(point)
        if not self._plan(point):
            return False
        self.struck.append(point)
        self._note("FAULT: " + fault.value, place)
        return True

    def turn(self, address: object, message: object, when: Literal["before", "after"]) -> None:
        """The actor runtime's observer: notes every turn, and crashes the turns that the plan chooses."""
        place = f"{address} {type(message).__name__}"
        if when == "before":
            self._note("handles " + type(message).__name__, str(address))
        if self.strikes(Fault.CRASH_BEFORE if when == "before" else Fault.CRASH_AFTER, place):
            raise Injected(f"{place}, {when} its turn")

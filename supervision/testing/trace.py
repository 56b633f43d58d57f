"""The trace of a run, line by line, without anything that differs between two equal runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

WIDTH_OF_TIME = 10
LONGEST_CYCLE = 200  # lines


class Line(NamedTuple):
    """The virtual second, the task and the event. An empty `what` is a step of a task."""

    at: float
    who: str
    what: str


def digest(trace: Sequence[Line]) -> str:
    """Return sixteen characters that are equal for equal traces."""
    text = "\n".join(f"{at!r} {who} {what}" for at, who, what in trace)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def readable(trace: Iterable[Line]) -> list[str]:
    """Return a line for each note and for each change of task. Consecutive steps of a task are counted."""
    lines: list[str] = []
    for (at, who, what), group in groupby(trace):
        count = sum(1 for _ in group)
        text = what or ("runs" if count == 1 else f"runs {count} steps")
        lines.append(f"{at:{WIDTH_OF_TIME}.3f}  {who:<24}  {text}")
    return lines


def cycle(lines: Sequence[str]) -> tuple[int, int]:
    """Return where the lines begin to repeat themselves up to their end, and after how many. 0 if they do not.

    Their times differ, so they are left out of the comparison.
    """
    events = [line[WIDTH_OF_TIME:] for line in lines]
    end = len(events)
    for length in range(1, min(LONGEST_CYCLE, end // 3) + 1):
        last = events[end - length :]
        if last == events[end - 2 * length : end - length] == events[end - 3 * length : end - 2 * length]:
            begin = end - length
            while begin > 0 and events[begin - 1] == events[begin - 1 + length]:
                begin -= 1
            return begin, length
    return end, 0


def parting(first: Sequence[Line], other: Sequence[Line]) -> str:
    """Return where two traces differ first."""
    for number, (mine, yours) in enumerate(zip(first, other, strict=False)):
        if mine != yours:
            return f"line {number}: {mine} in one run, {yours} in the other"
    return f"line {min(len(first), len(other))}: one run ends, the other goes on"

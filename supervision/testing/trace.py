"""The trace of a run, line by line, without anything that differs between two equal runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple


class Line(NamedTuple):
    """The virtual second, the task and the event. An empty `what` is one step of a task."""

    at: float
    who: str
    what: str


def digest(trace: Sequence[Line]) -> str:
    """Return sixteen characters that are equal for equal traces."""
    text = "\n".join(f"{at!r} {who} {what}" for at, who, what in trace)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def readable(trace: Iterable[Line]) -> list[str]:
    """Return one line for each note and for each change of task. Steps of one task are counted."""
    lines: list[str] = []
    for (at, who, what), group in groupby(trace):
        count = sum(1 for _ in group)
        told = what or ("runs" if count == 1 else f"runs {count} steps")
        lines.append(f"{at:10.3f}  {who:<24}  {told}")
    return lines


def parting(one: Sequence[Line], other: Sequence[Line]) -> str:
    """Return where two traces differ first."""
    for number, (mine, yours) in enumerate(zip(one, other, strict=False)):
        if mine != yours:
            return f"line {number}: {mine} in one run, {yours} in the other"
    return f"line {min(len(one), len(other))}: one run ends, the other goes on"

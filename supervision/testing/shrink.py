"""Shrinking: make a failing run small enough to read, with fewer faults and fewer task switches."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from .errors import leaves
from .faults import Point

# A run takes some ten milliseconds, so this is a matter of seconds.
MOST_RUNS = 300

# Values in a message, which differ between two runs that fail alike, and their replacement.
VALUES = (
    (re.compile(r"'[^']*'|\"[^\"]*\""), "'…'"),
    (re.compile(r"\[[^][]*\]"), "[…]"),
    (re.compile(r"\{[^{}]*\}"), "{…}"),
    (re.compile(r"\b(?:0x[0-9a-f]+|\d+(?:\.\d+)?)\b"), "#"),
)


class PlayedRun(Protocol):
    """The parts of a run that shrinking needs."""

    @property
    def choices(self) -> list[int]: ...

    @property
    def struck(self) -> list[Point]: ...

    @property
    def error(self) -> BaseException | None: ...


R = TypeVar("R", bound=PlayedRun)


@dataclass
class Shrinker(Generic[R]):
    """Keeps the smallest run so far that still fails in the same way."""

    play: Callable[[Sequence[int], Sequence[Point]], R]
    best: R
    runs: int = 0

    def __post_init__(self) -> None:
        self.wanted = signature(self.best.error)

    def shrink(self) -> R:
        """Drop faults, calm the choices, and try once more to drop faults."""
        self._drop_faults()
        self._calm_choices()
        self._drop_faults()
        return self.best

    def _drop_faults(self) -> None:
        """Leave blocks of faults out: first large blocks, in the end single faults."""
        size = len(self.best.struck)
        while size:
            start = 0
            while start < len(self.best.struck):
                struck = before = self.best.struck
                self._try(self.best.choices, [*struck[:start], *struck[start + size :]])
                if self.best.struck is before:
                    start += size
            size //= 2

    def _calm_choices(self) -> None:
        """Turn blocks of choices to 0, `stay on the current task`: first large blocks, in the end single choices."""
        size = len(self.best.choices)
        while size:
            start = 0
            while start < len(self.best.choices):
                choices = self.best.choices
                if any(choices[start : start + size]):
                    self._try([*choices[:start], *([0] * size), *choices[start + size :]], self.best.struck)
                start += size
            size //= 2

    def _try(self, choices: Sequence[int], faults: Sequence[Point]) -> None:
        if self.runs >= MOST_RUNS:
            return
        self.runs += 1
        played = self.play(choices, faults)
        if played.error is not None and signature(played.error) == self.wanted and weight(played) < weight(self.best):
            self.best = played


def weight(played: PlayedRun) -> tuple[int, int, int]:
    """Return how much there is to read: faults, task switches, choices."""
    return len(played.struck), switches(played), len(played.choices)


def switches(played: PlayedRun) -> int:
    """Number of task switches: choices that left a task that could have gone on."""
    return sum(1 for choice in played.choices if choice)


def signature(error: BaseException | None) -> tuple[tuple[str, str, str], ...]:
    """Return type, shape of the message, and place of each error, which are equal for runs that fail alike.

    The type alone does not: nearly every claim of a scenario fails with an AssertionError.
    """
    return tuple(sorted((type(leaf).__name__, shape(str(leaf)), place(leaf)) for leaf in leaves(error)))


def shape(message: str) -> str:
    """Return the first line of a message without its values: `assert [1, 'a'] == []` becomes `assert […] == […]`."""
    line = message.partition("\n")[0]
    for value, placeholder in VALUES:
        line = value.sub(placeholder, line)
    return line


def place(error: BaseException) -> str:
    """Return file and line of the innermost frame outside Trio: for a claim, its line."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/trio/" not in frame.filename]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""

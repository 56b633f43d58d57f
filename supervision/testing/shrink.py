"""Make a failing run small enough to read: fewer faults, and tasks that stay on until they must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from .errors import leaves
from .faults import Point

# A run takes some ten milliseconds, so this is a matter of seconds.
MOST_RUNS = 300


class Played(Protocol):
    """As much of a run as shrinking needs to know."""

    @property
    def choices(self) -> list[int]: ...

    @property
    def struck(self) -> list[Point]: ...

    @property
    def error(self) -> BaseException | None: ...


R = TypeVar("R", bound=Played)


@dataclass
class Shrinker(Generic[R]):
    """Holds the smallest run so far that still fails in the same way."""

    play: Callable[[Sequence[int], Sequence[Point]], R]
    best: R
    runs: int = 0

    def shrink(self) -> R:
        """Drop faults, calm the choices, and try once more to drop faults."""
        self._drop_faults()
        self._calm_choices()
        self._drop_faults()
        return self.best

    def _drop_faults(self) -> None:
        for point in list(self.best.struck):
            self._try(self.best.choices, [other for other in self.best.struck if other != point])

    def _calm_choices(self) -> None:
        """Turn blocks of choices to 0, `stay on the current task`: first large blocks, in the end single ones."""
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
        if (
            played.error is not None
            and kind(played.error) == kind(self.best.error)
            and weight(played) < weight(self.best)
        ):
            self.best = played


def weight(played: Played) -> tuple[int, int, int]:
    """How much there is to read: faults, switches of task, choices."""
    return len(played.struck), switches(played), len(played.choices)


def switches(played: Played) -> int:
    """How often somebody else was chosen than who could have gone on."""
    return sum(1 for choice in played.choices if choice)


def kind(error: BaseException | None) -> tuple[str, ...]:
    """Two runs fail in the same way when the types of their errors agree."""
    return tuple(sorted(type(leaf).__name__ for leaf in leaves(error)))

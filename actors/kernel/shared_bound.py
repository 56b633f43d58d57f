"""A bound on what the actors of several pools hold together.

While it is exceeded, the least recently used actor of all these pools goes to sleep next. So only one pool at a time
has one to put to sleep, and wakes the next pool when the turn is on that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Sleeper(Protocol):
    """A pool that takes part: its `Passivation`."""

    @property
    def oldest(self) -> float | None:
        """The last use of the actor that it would put to sleep next, or earlier. None if it has none."""
        ...

    @property
    def is_hopeless(self) -> bool:
        """True if all its actors are busy."""
        ...

    def wake(self) -> None:
        """Have the pool look at its actors soon."""
        ...


class SharedBound:
    """Says which pool is to put an actor to sleep. `is_exceeded` says if there is too much."""

    def __init__(self, is_exceeded: Callable[[], bool]) -> None:
        self.is_exceeded = is_exceeded
        self._sleepers: list[Sleeper] = []

    def add(self, sleeper: Sleeper) -> None:
        self._sleepers.append(sleeper)

    def names(self, sleeper: Sleeper) -> bool:
        """True if this pool has the least recently used actor, and one has to sleep."""
        return self.is_exceeded() and self._next() is sleeper

    def pass_on(self, sleeper: Sleeper) -> None:
        """Wake the pool that has the least recently used actor, if it is another one than this."""
        if self.is_exceeded() and (following := self._next()) not in (None, sleeper) and not following.is_hopeless:
            following.wake()

    def _next(self) -> Sleeper | None:
        found: Sleeper | None = None
        least = 0.0
        for sleeper in self._sleepers:
            oldest = sleeper.oldest
            if oldest is not None and (found is None or oldest < least):
                found, least = sleeper, oldest
        return found

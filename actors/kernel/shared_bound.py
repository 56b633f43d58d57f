"""A bound on what the actors of several pools hold together.

While it is exceeded, the least recently used actor of all these pools goes to sleep next. So only one pool at a time
has one to put to sleep, and wakes the next pool when the turn is on that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class PassivatingPool(Protocol):
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
        self._pools: list[PassivatingPool] = []

    def add(self, pool: PassivatingPool) -> None:
        self._pools.append(pool)

    def names(self, pool: PassivatingPool) -> bool:
        """True if this pool has the least recently used actor, and one has to sleep."""
        return self.is_exceeded() and self._next() is pool

    def pass_on(self, pool: PassivatingPool) -> None:
        """Wake the pool that has the least recently used actor, if it is another one than this."""
        if self.is_exceeded() and (following := self._next()) not in (None, pool) and not following.is_hopeless:
            following.wake()

    def _next(self) -> PassivatingPool | None:
        found: PassivatingPool | None = None
        least = 0.0
        for pool in self._pools:
            oldest = pool.oldest
            if oldest is not None and (found is None or oldest < least):
                found, least = pool, oldest
        return found

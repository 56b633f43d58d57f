"""A value that is expensive to compute: computed on demand, and cached for some time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import trio

from ..kernel.clock import Clock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _ComputedValue(Generic[T]):
    value: T
    until: datetime


class Computed(Generic[T]):
    """The value of `compute`, for `lasts`. One task computes it at a time; meanwhile other tasks get the last value."""

    def __init__(self, compute: Callable[[], Awaitable[T]], clock: Clock, lasts: timedelta) -> None:
        self._compute = compute
        self._clock = clock
        self._lasts = lasts
        self._kept: _ComputedValue[T] | None = None
        self._changes = 0
        self._computing = trio.Lock()

    async def get(self) -> T:
        kept = self._kept
        if kept is not None and (self._clock.now() < kept.until or self._computing.locked()):
            return kept.value
        async with self._computing:
            kept = self._kept
            if kept is not None and self._clock.now() < kept.until:
                return kept.value
            return await self._renew()

    def forget(self) -> None:
        """Drop the value, because a row that it depends on has changed.

        A value that is being computed is not cached.
        """
        self._kept = None
        self._changes += 1

    async def _renew(self) -> T:
        changes = self._changes
        value = await self._compute()
        if changes == self._changes:
            self._kept = _ComputedValue(value, self._clock.now() + self._lasts)
        return value

"""Work that several callers want at the same time is done once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import trio

K = TypeVar("K")
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Flight(Generic[T]):
    """Work that has begun. Without a result and without a failure when it has landed, it was cancelled."""

    landed: trio.Event = field(default_factory=trio.Event)
    result: list[T] = field(default_factory=list[T])  # at most one result
    failure: Exception | None = None


class SingleFlight(Generic[K, T]):
    """The work under way, by its key. Its result goes to all callers that wait for it, and is not cached.

    The work runs in the task of the caller that begins it. If that caller is cancelled, so is the work, and another
    caller that waits begins anew. A caller that only waits can be cancelled without harm to the others. (The subclass
    `Flights` of `federation/flights.py` runs the work in a task of its own.)

    An error is raised by each caller that waits. `concerns_beginner` is called in the task of each caller that
    waits: after an error for which it returns True, that caller begins anew.

    The number of flights has no bound of its own, because each has a caller. `len` returns it.
    """

    def __init__(self, concerns_beginner: Callable[[Exception], bool] = lambda _: False) -> None:
        self._concerns_beginner = concerns_beginner
        self._flights: dict[K, Flight[T]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    async def join(self, key: K, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work under way for a key. If there is none, begin `work`."""
        while True:
            flight = self._flights.get(key)
            if is_own := flight is None:
                flight = await self._begin(key, work)
            else:
                await flight.landed.wait()
            if flight.result:
                return flight.result[0]
            if flight.failure is not None and (is_own or not self._concerns_beginner(flight.failure)):
                raise flight.failure

    async def join_next(self, key: K, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of work that begins now or later: the work under way may have read an earlier state."""
        if (flight := self._flights.get(key)) is not None:
            await flight.landed.wait()
        return await self.join(key, work)

    def forget(self, key: K) -> None:
        """Have later callers begin anew, because the work under way may have read an earlier state."""
        self._flights.pop(key, None)

    async def _begin(self, key: K, work: Callable[[], Awaitable[T]]) -> Flight[T]:
        """Begin work, and return its flight when it has landed."""
        flight: Flight[T] = Flight()
        self._flights[key] = flight
        await self._fly(key, flight, work)
        return flight

    async def _fly(self, key: K, flight: Flight[T], work: Callable[[], Awaitable[T]]) -> None:
        try:
            flight.result.append(await work())
        except Exception as error:
            flight.failure = error  # raised by the callers
        finally:
            if self._flights.get(key) is flight:
                del self._flights[key]
            flight.landed.set()

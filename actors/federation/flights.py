"""Work that several callers want at the same time is done once, and goes on when a caller gives up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

import trio

from .budgets import BudgetSpent, is_spent
from .errors import DocumentUnavailable

T = TypeVar("T")

MOST = 1000  # flights at the same time
SECONDS = 120.0  # for one, with all that it waits for


@dataclass(slots=True)
class Flight(Generic[T]):
    """Work that has begun. Its failure is raised by each caller."""

    landed: trio.Event = field(default_factory=trio.Event)
    result: T | None = None
    failure: Exception | None = None


class Flights(Generic[T]):
    """The work that is going on, by its key. It runs in the nursery of `run`, not in that of a caller."""

    def __init__(self, most: int = MOST, seconds: float = SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._flights: dict[str, Flight[T]] = {}
        self._nursery: trio.Nursery | None = None

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            await stopping.wait()
            nursery.cancel_scope.cancel()

    async def join(self, key: str, work: Callable[[], Awaitable[T | None]]) -> T | None:
        """Return the result of some work, which is begun unless it is going on. Raise its error.

        Its requests count for the caller that has begun it. If the budget of that caller ends, another caller begins
        anew.
        """
        while True:
            flight, is_own = self._flights.get(key), False
            if flight is None:
                flight, is_own = self._begin(key, work), True
            await flight.landed.wait()
            if flight.failure is None:
                return flight.result
            if is_own or is_spent() or not isinstance(flight.failure, BudgetSpent):
                raise flight.failure

    async def join_next(self, key: str, work: Callable[[], Awaitable[T | None]]) -> T | None:
        """Return the result of some work that begins now or later: what is going on may have read an earlier state."""
        if (flight := self._flights.get(key)) is not None:
            await flight.landed.wait()
        return await self.join(key, work)

    def _begin(self, key: str, work: Callable[[], Awaitable[T | None]]) -> Flight[T]:
        if self._nursery is None or len(self._flights) >= self._most:
            raise DocumentUnavailable("too many documents are being fetched")
        flight = self._flights[key] = Flight()
        self._nursery.start_soon(partial(self._run, key, flight, work))
        return flight

    async def _run(self, key: str, flight: Flight[T], work: Callable[[], Awaitable[T | None]]) -> None:
        flight.failure = DocumentUnavailable("the work was not done in time")
        try:
            with trio.move_on_after(self._seconds):
                flight.result = await work()
                flight.failure = None
        except Exception as error:
            flight.failure = error  # the callers' business: other work goes on
        finally:
            del self._flights[key]
            flight.landed.set()

"""Documents and files that several callers want are fetched once, and the fetch goes on when a caller gives up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import trio

from ..memory.single_flight import Flight, SingleFlight
from .budgets import BudgetSpent, is_spent
from .errors import DocumentUnavailable

T = TypeVar("T")

MOST = 1000  # flights at the same time
SECONDS = 120.0  # for a flight, with its waits


class Flights(SingleFlight[str, T | None]):
    """A `SingleFlight` whose work runs in the nursery of `run`, so that it goes on when its caller is cancelled.

    The requests of the work count for the caller that began it. If the budget of this caller is spent, another caller
    with a budget begins the work again.
    """

    def __init__(self, most: int = MOST, seconds: float = SECONDS) -> None:
        super().__init__(lambda error: isinstance(error, BudgetSpent) and not is_spent())
        self._most = most
        self._seconds = seconds
        self._nursery: trio.Nursery | None = None

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            try:
                await stopping.wait()
            finally:
                self._nursery = None  # callers whose work is cancelled below don't begin it again
                nursery.cancel_scope.cancel()

    async def _begin(self, key: str, work: Callable[[], Awaitable[T | None]]) -> Flight[T | None]:
        if self._nursery is None or len(self) >= self._most:
            raise DocumentUnavailable("too many documents are being fetched")
        flight: Flight[T | None] = Flight()
        self._flights[key] = flight
        self._nursery.start_soon(self._fly, key, flight, partial(self._do_in_time, work))
        await flight.landed.wait()
        return flight

    async def _do_in_time(self, work: Callable[[], Awaitable[T | None]]) -> T | None:
        with trio.move_on_after(self._seconds):
            return await work()
        raise DocumentUnavailable("the work was not done in time")

"""Places for long jobs: a fixed number, shared fairly between the accounts that wait."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import inf

import trio

from ..kernel import NotAnswered


class NoPlace(NotAnswered):
    """Raised when no place became free in time."""

    retry_after = 5


class Places:
    """A fixed number of places.

    An account has at most one place. Waiting accounts get a place in turn, for one job each.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._busy: set[int] = set()
        # The queue of accounts with waiting jobs. The first account is the next.
        self._waiting: OrderedDict[int, deque[trio.Event]] = OrderedDict()

    @asynccontextmanager
    async def take(self, account_id: int, patience: float = inf) -> AsyncGenerator[None]:
        """Wait for a place, for at most `patience` seconds, and keep it for the block. Raises NoPlace."""
        await self._wait(account_id, patience)
        try:
            yield
        finally:
            self._busy.discard(account_id)
            if account_id in self._waiting:  # behind the accounts that came during its turn
                self._waiting.move_to_end(account_id)
            self._fill()

    def inspect(self) -> str:
        """Return the numbers for an operator."""
        waiting = sum(len(jobs) for jobs in self._waiting.values())
        return f"{len(self._busy)} of {self._count}" + (f", {waiting} waiting" if waiting else "")

    async def _wait(self, account_id: int, patience: float) -> None:
        called = trio.Event()
        self._waiting.setdefault(account_id, deque()).append(called)
        self._fill()
        try:
            with trio.move_on_after(patience):
                await called.wait()
        except BaseException:
            self._leave(account_id, called)
            raise
        if not called.is_set():
            self._leave(account_id, called)
            raise NoPlace

    def _leave(self, account_id: int, called: trio.Event) -> None:
        """Stop waiting. If a place was already given, it goes to the next account."""
        if called.is_set():
            self._busy.discard(account_id)
        else:
            self._waiting[account_id].remove(called)
            if not self._waiting[account_id]:
                del self._waiting[account_id]
        self._fill()

    def _fill(self) -> None:
        """Give free places to the next accounts in turn."""
        while len(self._busy) < self._count:
            account_id = next((waiting for waiting in self._waiting if waiting not in self._busy), None)
            if account_id is None:
                return
            jobs = self._waiting[account_id]
            self._busy.add(account_id)
            jobs.popleft().set()
            if not jobs:
                del self._waiting[account_id]

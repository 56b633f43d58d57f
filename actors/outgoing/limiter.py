"""Limits concurrent requests: to a host or for a client, and in total."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio


@dataclass(slots=True)
class _Requests:
    """The running and waiting requests with a key."""

    places: trio.Semaphore
    count: int = 0


class RequestLimiter:
    """Places for requests by a key, such as their host. Keys without requests are forgotten.

    At most `of_each` requests with the same key run at the same time, so that a slow host leaves places to others, and
    at most `all` in total. Places are given in the order of the requests. A request waits for a place of its key first,
    and takes no place of the total meanwhile. `key_of` returns the key of a name; by default it is the name.
    """

    def __init__(self, of_each: int, all: int, key_of: Callable[[str], str] = str) -> None:
        self._key_of = key_of
        self._of_each = of_each
        self._all = trio.Semaphore(all)
        self._requests: dict[str, _Requests] = {}

    def __len__(self) -> int:
        """The number of keys with requests."""
        return len(self._requests)

    def count(self, name: str) -> int:
        """Return the number of running and waiting requests with the key of a name."""
        requests = self._requests.get(self._key_of(name))
        return 0 if requests is None else requests.count

    @asynccontextmanager
    async def place(self, name: str) -> AsyncGenerator[None]:
        """Wait for a place, and keep it for the block."""
        key = self._key_of(name)
        requests = self._requests.setdefault(key, _Requests(trio.Semaphore(self._of_each)))
        requests.count += 1
        try:
            async with requests.places, self._all:
                yield
        finally:
            requests.count -= 1
            if not requests.count:
                del self._requests[key]

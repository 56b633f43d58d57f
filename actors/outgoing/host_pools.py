"""The connections of a client: a connection pool of the library for each host.

A common pool would check each of its connections, with a system call for each, whenever a request begins or ends.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    import httpcore2

REQUESTS = 256  # at once to all hosts
PER_HOST = 8  # so that a slow host does not take them all
IDLE = 30.0  # seconds that an unused connection is kept
IDLE_PER_HOST = 2  # connections
IDLE_HOSTS = 128  # hosts with unused connections; those of the least recently used host are closed first


@dataclass(slots=True, eq=False)
class HostPool:
    """The connections to a host, and the number of requests that use them."""

    connections: httpcore2.AsyncConnectionPool
    requests: int = 0
    used_at: float = 0.0


class HostPools:
    """The pools of a client, the most recently used last."""

    def __init__(self, make: Callable[[], httpcore2.AsyncConnectionPool]) -> None:
        self._make = make
        self._pools: dict[str, HostPool] = {}

    def __len__(self) -> int:
        """The number of open connections."""
        return sum(len(pool.connections.connections) for pool in self._pools.values())

    @asynccontextmanager
    async def use(self, host: str) -> AsyncGenerator[httpcore2.AsyncConnectionPool]:
        """Keep the connections to a host open for the block."""
        pool = self._pools.pop(host, None) or HostPool(self._make())
        self._pools[host] = pool
        pool.requests += 1
        try:
            yield pool.connections
        finally:
            pool.requests -= 1
            pool.used_at = trio.current_time()
            if len(self._pools) > IDLE_HOSTS:
                await self._close_oldest()

    async def _close_oldest(self) -> None:
        """Close the connections of the least recently used host without running requests."""
        oldest = next((host for host, pool in self._pools.items() if not pool.requests), None)
        if oldest is not None:
            await self._close(oldest)

    async def close_idle(self) -> None:
        """Close the connections that have been unused for too long."""
        now = trio.current_time()
        for host, pool in list(self._pools.items()):
            if not pool.requests and pool.used_at + IDLE <= now:
                await self._close(host)

    async def close_all(self) -> None:
        """Close all connections."""
        for host in list(self._pools):
            await self._close(host)

    async def _close(self, host: str) -> None:
        pool = self._pools.pop(host, None)
        if pool is not None:
            with trio.CancelScope(shield=True), trio.move_on_after(1):
                await pool.connections.aclose()

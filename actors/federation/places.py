"""Places for requests to other servers. Those of one domain have a few, so that slow servers leave others theirs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from .discoveries import registrable

ALL = 128
OF_ONE_DOMAIN = 4


@dataclass(slots=True)
class _Domain:
    """The requests to servers of one domain: those that run, and those that wait."""

    places: trio.Semaphore = field(default_factory=lambda: trio.Semaphore(OF_ONE_DOMAIN))
    requests: int = 0


class Places:
    """Domains without requests are forgotten."""

    def __init__(self, all: int = ALL) -> None:
        """`all` is the number of places of all domains together."""
        self._all = trio.Semaphore(all)
        self._domains: dict[str, _Domain] = {}

    def requests_to(self, host: str) -> int:
        """Return how many requests run or wait for servers of the domain of a host."""
        domain = self._domains.get(registrable(host))
        return 0 if domain is None else domain.requests

    @asynccontextmanager
    async def at(self, host: str) -> AsyncGenerator[None]:
        """Wait for a place to ask a host."""
        name = registrable(host)
        domain = self._domains.setdefault(name, _Domain())
        domain.requests += 1
        try:
            async with domain.places, self._all:
                yield
        finally:
            domain.requests -= 1
            if not domain.requests:
                del self._domains[name]

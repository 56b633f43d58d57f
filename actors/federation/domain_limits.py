"""Places for requests to other servers. Those of one domain have a few, so that slow servers leave others theirs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import trio

from ..rules.domains import registrable

ALL = 128
OF_ONE_DOMAIN = 4


@dataclass(slots=True)
class _DomainRequests:
    """The requests to servers of one domain: those that run, and those that wait."""

    places: trio.Semaphore
    requests: int = 0


class DomainLimiter:
    """Domains without requests are forgotten."""

    def __init__(self, all: int = ALL, of_one_domain: int = OF_ONE_DOMAIN) -> None:
        """`all` is the number of places of all domains together."""
        self._all = trio.Semaphore(all)
        self._of_one_domain = of_one_domain
        self._domains: dict[str, _DomainRequests] = {}

    def requests_to(self, host: str) -> int:
        """Return how many requests run or wait for servers of the domain of a host."""
        domain = self._domains.get(registrable(host))
        return 0 if domain is None else domain.requests

    @asynccontextmanager
    async def at(self, host: str) -> AsyncGenerator[None]:
        """Wait for a place to ask a host."""
        name = registrable(host)
        domain = self._domains.setdefault(name, _DomainRequests(trio.Semaphore(self._of_one_domain)))
        domain.requests += 1
        try:
            async with domain.places, self._all:
                yield
        finally:
            domain.requests -= 1
            if not domain.requests:
                del self._domains[name]

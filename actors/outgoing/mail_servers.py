"""Finds the mail servers of a domain by DNS: a domain without mail servers can't receive mails.

Lookups have limits on time, number and size, and wait in Trio. If DNS gives no answer, the domain is not refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio
from cachetools import TTLCache

from .limiter import RequestLimiter

if TYPE_CHECKING:
    from .dns_queries import DnsQueries

SECONDS = 5.0  # for all lookups of a domain together
AT_ONCE = 8
AT_ONCE_OF_A_NETWORK = 2  # so that a client with slow domains leaves places to others
CACHED = 1024
CACHED_FOR = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class MailServers:
    """The names of a domain's mail servers. None: DNS gave no answer. Empty: the domain accepts no mails."""

    names: tuple[str, ...] | None


UNKNOWN = MailServers(None)
FindMailServers = Callable[[str, str], Awaitable[MailServers]]  # of a domain, for a client's network


class MailServerLookup:
    """Queries the DNS servers of the machine, or the named `servers`."""

    def __init__(self, servers: Sequence[tuple[str, int]] = ()) -> None:
        self._servers = tuple(servers)
        self._queries: DnsQueries | None = None  # after the first lookup
        self._limiter = RequestLimiter(AT_ONCE_OF_A_NETWORK, AT_ONCE)  # by network
        self._found: TTLCache[str, MailServers] = TTLCache(CACHED, CACHED_FOR)

    async def __call__(self, domain: str, network: str) -> MailServers:
        """Return the mail servers of a domain in lower-case ASCII. `network` is the client's network."""
        if (known := self._found.get(domain)) is not None:
            return known
        with trio.move_on_after(SECONDS):
            async with self._limiter.place(network):
                found = await self._look_up(domain)
            if found.names is not None:
                self._found[domain] = found
            return found
        return UNKNOWN

    async def _look_up(self, domain: str) -> MailServers:
        if self._queries is None:
            self._queries = await trio.to_thread.run_sync(_import, self._servers)
        return MailServers(await self._queries.mail_servers(domain))


def _import(servers: Sequence[tuple[str, int]]) -> DnsQueries:
    """Import the DNS library: it takes 3 MiB, and few servers look domains up."""
    from .dns_queries import DnsQueries  # late: 18 ms, 63 modules, 3.3 MiB

    return DnsQueries(servers, SECONDS)

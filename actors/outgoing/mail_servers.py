"""The mail servers of a domain, by DNS: whether an address can receive mails at all, and who receives them.

Lookups have limits on time, number and size, and wait in Trio. One that gives no answer is not held against the domain.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import dns.asyncresolver
import dns.exception
import dns.name
import dns.nameserver
import dns.rdata
import dns.rdatatype
import dns.resolver
import trio
from cachetools import TTLCache
from dns.rdtypes.ANY.MX import MX

SECONDS = 5.0  # for all lookups of a domain together
AT_ONCE = 8
AT_ONCE_OF_A_NETWORK = 2  # so that one client with slow domains leaves places to all others
MOST_SERVERS = 20  # of a domain
REMEMBERED = 1024
REMEMBERED_FOR = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class MailServers:
    """The names of a domain's mail servers. None: DNS gave no answer. Empty: the domain takes no mails."""

    names: tuple[str, ...] | None


UNKNOWN = MailServers(None)
FindMailServers = Callable[[str, str], Awaitable[MailServers]]  # of a domain, for a client's network


class MailServerLookup:
    """Asks the DNS servers of the machine, or those that are named as `ADDRESS` or `ADDRESS:PORT`."""

    def __init__(self, servers: Sequence[tuple[str, int]] = ()) -> None:
        self._servers = tuple(servers)
        self._resolver: dns.asyncresolver.Resolver | None = None
        self._turns = trio.CapacityLimiter(AT_ONCE)
        self._of_networks: dict[str, trio.CapacityLimiter] = {}  # of those that look up or wait now
        self._found: TTLCache[str, MailServers] = TTLCache(REMEMBERED, REMEMBERED_FOR)

    async def __call__(self, domain: str, network: str) -> MailServers:
        """Return the mail servers of a domain in lower-case ASCII. `network` is that of the client."""
        if (known := self._found.get(domain)) is not None:
            return known
        with trio.move_on_after(SECONDS):
            async with self._turn(network):
                found = await self._look_up(domain)
            if found.names is not None:
                self._found[domain] = found
            return found
        return UNKNOWN

    @asynccontextmanager
    async def _turn(self, network: str) -> AsyncGenerator[None]:
        """Wait for a place of the client's network, and only then for one of all."""
        own = self._of_networks.setdefault(network, trio.CapacityLimiter(AT_ONCE_OF_A_NETWORK))
        try:
            async with own, self._turns:
                yield
        finally:
            waiting = own.statistics()
            if not waiting.borrowed_tokens and not waiting.tasks_waiting:
                self._of_networks.pop(network, None)

    async def _look_up(self, domain: str) -> MailServers:
        try:
            name = dns.name.from_text(domain)
            exchanges = await self._ask(name, dns.rdatatype.MX)
            if exchanges is None:
                return MailServers(())  # there is no such domain
            if exchanges:
                found = (one for one in exchanges[:MOST_SERVERS] if isinstance(one, MX))
                names = (one.exchange.to_text(omit_final_dot=True).lower().rstrip(".") for one in found)
                return MailServers(tuple(filter(None, names)))  # `.` alone says that no mails are taken, RFC 7505
            # Without such records the domain itself is its mail server, RFC 5321.
            has_address = await self._ask(name, dns.rdatatype.A) or await self._ask(name, dns.rdatatype.AAAA)
            return MailServers((domain,) if has_address else ())
        except (dns.exception.DNSException, OSError):
            return UNKNOWN

    async def _ask(self, name: dns.name.Name, kind: dns.rdatatype.RdataType) -> list[dns.rdata.Rdata] | None:
        """Return the records of a kind. None if the domain does not exist."""
        try:
            answer = await self._prepared().resolve(name, kind, search=False)
        except dns.resolver.NXDOMAIN:
            return None
        except dns.resolver.NoAnswer:
            return []
        return list(answer)

    def _prepared(self) -> dns.asyncresolver.Resolver:
        """Return the resolver. It reads the machine's configuration with the first lookup, if no server is named."""
        if self._resolver is None:
            resolver = dns.asyncresolver.Resolver(configure=not self._servers)
            if self._servers:
                resolver.nameservers = [dns.nameserver.Do53Nameserver(*server) for server in self._servers]
            resolver.lifetime = SECONDS
            resolver.timeout = SECONDS / 2
            self._resolver = resolver
        return self._resolver

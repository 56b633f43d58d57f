"""The queries to DNS that find the mail servers of a domain. Imported with the first query, see `mail_servers.py`."""

from __future__ import annotations

from collections.abc import Sequence

import dns.asyncresolver
import dns.exception
import dns.name
import dns.nameserver
import dns.rdata
import dns.rdatatype
import dns.resolver
from dns.rdtypes.ANY.MX import MX

MOST_SERVERS = 20  # of a domain


class DnsQueries:
    """Queries the DNS servers of the machine, or `servers`. All queries for a domain take at most `seconds`."""

    def __init__(self, servers: Sequence[tuple[str, int]], seconds: float) -> None:
        self._servers = servers
        self._seconds = seconds
        self._resolver: dns.asyncresolver.Resolver | None = None

    async def mail_servers(self, domain: str) -> tuple[str, ...] | None:
        """Return the names of a domain's mail servers; empty if it accepts no mails, None if DNS gives no answer."""
        try:
            name = dns.name.from_text(domain)
            exchanges = await self._ask(name, dns.rdatatype.MX)
            if exchanges is None:
                return ()  # there is no such domain
            if exchanges:
                found = (record for record in exchanges[:MOST_SERVERS] if isinstance(record, MX))
                names = (record.exchange.to_text(omit_final_dot=True).lower().rstrip(".") for record in found)
                return tuple(filter(None, names))  # `.` alone: the domain accepts no mails, RFC 7505
            # Without MX records the domain itself is its mail server, RFC 5321.
            has_address = await self._ask(name, dns.rdatatype.A) or await self._ask(name, dns.rdatatype.AAAA)
            return (domain,) if has_address else ()
        except (dns.exception.DNSException, OSError):
            return None

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
            resolver.lifetime = self._seconds
            resolver.timeout = self._seconds / 2
            self._resolver = resolver
        return self._resolver

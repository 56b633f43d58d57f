"""IP addresses: who a request is from behind proxies, and what counts as one client."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

# An entry of X-Forwarded-For with a port or brackets: `192.0.2.1:5678`, `[2001:db8::1]` or `[2001:db8::1]:443`.
HOP = re.compile(r"(?P<v4>[0-9.]+):[0-9]{1,5}|\[(?P<v6>[^\]]+)\](?::[0-9]{1,5})?")

FORWARDED_FOR = b"x-forwarded-for"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def forwarded_for(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return what proxies have written into X-Forwarded-For: its lines are one list (RFC 9110, section 5.2).

    A proxy that adds a line of its own leaves the client's lines before it.
    """
    lines = [value.decode("latin-1") for name, value in headers if name == FORWARDED_FOR]
    return ",".join(lines) if lines else None


def client_address(peer: str, forwarded: str | None, trusted: Sequence[Network]) -> str:
    """Return the address of a client, by the peer of its connection and the header that proxies write."""
    if forwarded is None or not trusted:
        return peer
    here = peer
    # From the nearest proxy outwards: the first address that is not a trusted proxy's is the client's. The client may
    # have written the entries before it.
    for hop in filter(None, map(str.strip, reversed(forwarded.split(",")))):
        if not is_inside(here, trusted) or (address := _without_port(hop)) is None:
            break
        here = address
    return here


def _without_port(hop: str) -> str | None:
    """The IP address of an entry of X-Forwarded-For; None if the entry has none, as `unknown`.

    Some proxies write the client's port too, as in `192.0.2.1:5678` and `[2001:db8::1]:443`. With it, each connection
    of a client would count as another address.
    """
    found = HOP.fullmatch(hop)
    address = hop if found is None else found["v4"] or found["v6"]
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return None
    return address


def is_inside(address: str, networks: Sequence[Network]) -> bool:
    """True if one of the networks has this address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


@lru_cache(maxsize=4096)
def network_subject_of(address: str) -> str:
    """Return the network that an address is counted in: a /24 of IPv4, a /48 of IPv6."""
    try:
        parsed = ipaddress.ip_address(subject_of(address).partition("/")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 24 if parsed.version == 4 else 48), strict=False))


@lru_cache(maxsize=4096)
def subject_of(address: str) -> str:
    """Return the subject that an address counts for: an IPv6 customer has a whole /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))

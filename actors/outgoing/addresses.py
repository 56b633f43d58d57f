"""The addresses that requests may go to: public addresses and test hosts.

The rules follow the registries of special-purpose addresses (RFC 6890 and what IANA added since). Python's own
`is_global` is not used, because its answers differ between Python versions.

Test hosts are exempt. The operator names them as `peer.test`, or as `peer.test=127.0.0.1:8443` for a host without DNS.
The second form replaces the DNS lookup and the port 443, on which only root may listen. The rest of a request is as for
other hosts: its URL, its `Host` header, and the name that a certificate must have.

Commands check settings by these rules, so this file does not import Trio: that would take them 93 modules and 6 MiB.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

# The address and the port of a host; None if it is looked up like other hosts.
Place: TypeAlias = "tuple[str, int] | None"


def named_hosts(written: Collection[str]) -> Mapping[str, Place]:
    """Return the place of each host. Raise ValueError for a place that is no address with a port."""
    return {
        name: _place(place) if equals else None for name, equals, place in (host.partition("=") for host in written)
    }


def _place(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("a test host has no address with a port")
    return str(ip_address(address.strip("[]"))), int(port)


# Every IPv4 network that is not public.
SPECIAL_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network, RFC 791
            "10.0.0.0/8",  # private, RFC 1918
            "100.64.0.0/10",  # shared by carriers, RFC 6598
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, RFC 3927: also where clouds serve credentials
            "172.16.0.0/12",  # private, RFC 1918
            "192.0.0.0/24",  # protocol assignments, RFC 6890
            "192.0.2.0/24",  # documentation, RFC 5737
            "192.31.196.0/24",  # AS112, RFC 7535
            "192.52.193.0/24",  # AMT, RFC 7450
            "192.88.99.0/24",  # 6to4 relays, RFC 7526
            "192.168.0.0/16",  # private, RFC 1918
            "192.175.48.0/24",  # AS112, RFC 7534
            "198.18.0.0/15",  # benchmarks, RFC 2544
            "198.51.100.0/24",  # documentation, RFC 5737
            "203.0.113.0/24",  # documentation, RFC 5737
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and the broadcast address
        ),
    )
)

# The only IPv6 addresses that hosts of the public Internet have, and the networks among them that are not public.
UNICAST_V6 = IPv6Network("2000::/3")
SPECIAL_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, RFC 2928: Teredo, benchmarks, ORCHID and others
            "2001:db8::/32",  # documentation, RFC 3849
            "2002::/16",  # 6to4, RFC 3056: leads to any IPv4 address
            "2620:4f:8000::/48",  # AS112, RFC 7534
            "3fff::/20",  # documentation, RFC 9637
        ),
    )
)

# Translated to IPv4 by the network, RFC 6052. 64:ff9b:1::/48 (RFC 8215) leads into networks of an operator's own.
NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: IPv4Address | IPv6Address | str) -> bool:
    """True if an address is public. Embedded IPv4 addresses are unwrapped."""
    address = ip_address(address)
    if isinstance(address, IPv6Address):
        return _is_public_v6(address)
    return not any(address in network for network in SPECIAL_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    if address.scope_id is not None:
        return False
    if (embedded := address.ipv4_mapped) is not None:
        return is_public(embedded)
    if address in NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in UNICAST_V6 and not any(address in network for network in SPECIAL_V6)

"""The clients that staff keep out, or keep from signing up, by their addresses.

Each request asks, so networks are indexed by the length of their prefix: an address is looked up once for each length
in use. Results are cached by the text of the address.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from datetime import datetime

from ...storage.blocked_networks import BlockedNetwork, NetworkSeverity

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
RANKS: dict[NetworkSeverity, int] = {"sign_up_requires_approval": 0, "sign_up_block": 1, "no_access": 2}
# Some 2 MB. Then the answers are found anew.
MOST_REMEMBERED = 16_384
BITS = {4: 32, 6: 128}
INTERFACE = re.compile(r"%[^/]+")  # of an address that is valid on a single link


class NetworkRules:
    """All blocks of networks in memory. Addresses of this machine are never blocked: operators come from there."""

    def __init__(self, blocks: Iterable[BlockedNetwork] = ()) -> None:
        self._by_length: dict[tuple[int, int], dict[int, BlockedNetwork]] = {}
        for block in blocks:
            network = ipaddress.ip_network(block.network)
            shift = BITS[network.version] - network.prefixlen
            self._by_length.setdefault((network.version, shift), {})[int(network.network_address) >> shift] = block
        # False on most servers: then no request is looked up.
        self.bar_some = any(block.severity == "no_access" for of in self._by_length.values() for block in of.values())
        self._remembered: dict[str, tuple[BlockedNetwork, ...]] = {}

    def severity_for(self, address: str, now: datetime) -> NetworkSeverity | None:
        """Return the strictest of the blocks of an address. None if it is not blocked, or is no address."""
        found = self._remembered.get(address)
        if found is None:
            found = self._remember(address)
        if not found:
            return None
        running = [block for block in found if block.expires_at is None or block.expires_at > now]
        return max(running, key=_rank).severity if running else None

    def _remember(self, address: str) -> tuple[BlockedNetwork, ...]:
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[address] = found = tuple(self._find(address))
        return found

    def _find(self, written: str) -> Iterable[BlockedNetwork]:
        address = address_of(written)
        if address is None or address.is_loopback:
            return
        number = int(address)
        for (version, shift), networks in self._by_length.items():
            if version == address.version and (block := networks.get(number >> shift)) is not None:
                yield block


def _rank(block: BlockedNetwork) -> int:
    return RANKS[block.severity]


def address_of(written: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an address. An IPv4 address in the form of IPv6 becomes an IPv4 address."""
    try:
        address = ipaddress.ip_address(written.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_of_this_machine(network: str) -> bool:
    """True for loopback addresses: `NetworkRules` never blocks them."""
    return ipaddress.ip_network(network).is_loopback


def covers(network: str, address: str) -> bool:
    """True if a network has an address or all of a smaller network in it. False for addresses of this machine."""
    inner = network_of(address)
    outer = ipaddress.ip_network(network)
    if inner is None or inner.is_loopback or inner.version != outer.version:
        return False
    first, last = inner.network_address, inner.broadcast_address
    return first in outer and last in outer


def network_of(written: str) -> Network | None:
    """Return a network, or a single address as a network. None for other texts. Bits beyond the prefix are cleared.

    The name of an interface (`fe80::1%eth0`) is left out, as from the addresses of clients: PostgreSQL stores none.
    """
    try:
        network = ipaddress.ip_network(INTERFACE.sub("", written.strip(), 1), strict=False)
    except ValueError:
        return None
    mapped = network.network_address.ipv4_mapped if isinstance(network, ipaddress.IPv6Network) else None
    if mapped is not None and network.prefixlen >= 96:
        return ipaddress.ip_network((mapped, network.prefixlen - 96))
    return network

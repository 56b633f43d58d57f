"""Test hosts, as the operator names them: `peer.test`, or `peer.test=127.0.0.1:8443` for one that no name server knows.

The second form takes the place of a name server and of the port 443, which only root may listen on. Everything else of
a request is as for other hosts: its URL, its `Host` header, the name that a certificate must have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import TypeAlias

# The address and the port of a host; None if it is looked up like others.
Place: TypeAlias = "tuple[str, int] | None"


def named_hosts(written: Collection[str]) -> Mapping[str, Place]:
    """Return where each host is. Raise ValueError for a place that is no address with a port."""
    return {name: _place(place) if equals else None for name, equals, place in (one.partition("=") for one in written)}


def _place(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("a test host has no address with a port")
    return str(ip_address(address.strip("[]"))), int(port)

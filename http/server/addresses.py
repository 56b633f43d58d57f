"""The addresses of clients: who a connection and a request are from, behind proxies, and what counts as one client.

A proxy that passes bytes on may say first which client they come from, by the PROXY protocol, versions 1 and 2. The
specification is `doc/proxy-protocol.txt` of HAProxy. Exactly the header is read: what follows is the client's.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import trio
from hypercorn.utils import parse_socket_addr  # pyright: ignore[reportUnknownVariableType]  # takes an untyped tuple

from . import limits

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
    if forwarded is None:
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


# The address of a client without one, which is connected by a Unix socket.
HERE = ("127.0.0.1", 0)

# The PROXY protocol
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"  # of version 2
LONGEST_LINE = 107  # of version 1
# Version 2: the command of a connection that the proxy makes for itself, and the families with the sizes of an address.
LOCAL_COMMAND, PROXY_COMMAND = 0x20, 0x21
TCP_FAMILIES = {0x11: 4, 0x21: 16}
LARGEST_HEADER = 1024  # of what follows the first 16 bytes: two addresses, and extensions


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The settings about the addresses of clients."""

    most_connections: int = 512
    trusted_proxies: Sequence[Network] = ()
    proxy_protocol: bool = False


class Addresses:
    """Counts the connections of each address. Trusted proxies and this machine may have any number."""

    def __init__(self, rules: Callable[[], AddressRules]) -> None:
        self._rules = rules  # those that hold now
        self._connected: dict[str, int] = {}

    async def find(self, stream: trio.SocketStream) -> tuple[str, int] | None:
        """Return the address and the port of a client; None if it is gone, or if its proxy does not tell them."""
        rules = self._rules()
        try:
            peer = parse_socket_addr(stream.socket.family, stream.socket.getpeername()) or HERE
            if rules.proxy_protocol and is_inside(peer[0], rules.trusted_proxies):
                with trio.fail_after(limits.PROXY_HEADER):
                    return await read_proxy_header(stream) or peer
        except (OSError, trio.BrokenResourceError, trio.TooSlowError, NoProxyHeader):
            return None
        return peer

    def enter(self, address: str) -> bool:
        """Count a connection. False if the address has too many."""
        subject, rules = subject_of(address), self._rules()
        count = self._connected.get(subject, 0)
        if count >= rules.most_connections and not _is_exempt(address, rules):
            return False
        self._connected[subject] = count + 1
        return True

    def leave(self, address: str) -> None:
        """Count a connection that has ended."""
        subject = subject_of(address)
        self._connected[subject] -= 1
        if not self._connected[subject]:
            del self._connected[subject]


def _is_exempt(address: str, rules: AddressRules) -> bool:
    return ipaddress.ip_address(address).is_loopback or is_inside(address, rules.trusted_proxies)


class NoProxyHeader(Exception):
    """Raised for a connection that does not begin with a header."""


async def read_proxy_header(stream: trio.SocketStream) -> tuple[str, int] | None:
    """Read the header. Return the client's address and port; None if the proxy gives none. Raises NoProxyHeader."""
    start = await _exactly(stream, len(SIGNATURE))
    if start == SIGNATURE:
        return await _read_binary(stream)
    if not start.startswith(b"PROXY "):
        raise NoProxyHeader
    while not start.endswith(b"\r\n"):
        if len(start) >= LONGEST_LINE:
            raise NoProxyHeader
        start += await _exactly(stream, 1)
    return _source_of(start.decode("latin-1").split())


async def _read_binary(stream: trio.SocketStream) -> tuple[str, int] | None:
    command, family, *size = await _exactly(stream, 4)
    length = int.from_bytes(size)
    if command not in (LOCAL_COMMAND, PROXY_COMMAND) or length > LARGEST_HEADER:
        raise NoProxyHeader
    rest = await _exactly(stream, length)
    width = TCP_FAMILIES.get(family)
    if command == LOCAL_COMMAND or width is None:
        return None
    if length < 2 * width + 4:
        raise NoProxyHeader
    return str(ipaddress.ip_address(rest[:width])), int.from_bytes(rest[2 * width : 2 * width + 2])


def _source_of(words: list[str]) -> tuple[str, int] | None:
    match words:
        case ["PROXY", "UNKNOWN", *_]:
            return None
        case ["PROXY", "TCP4" | "TCP6", source, _, port, _]:
            try:
                return str(ipaddress.ip_address(source)), int(port)
            except ValueError:
                raise NoProxyHeader from None
        case _:
            raise NoProxyHeader


async def _exactly(stream: trio.SocketStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = await stream.receive_some(size - len(data))
        if not part:
            raise NoProxyHeader
        data += part
    return data

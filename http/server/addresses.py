"""The addresses of clients: of a connection and of a request, also behind proxies, and the subject of a rate limit.

A TCP proxy may first send the client's address by the PROXY protocol, versions 1 and 2 (HAProxy,
`doc/proxy-protocol.txt`). Not a byte after its header is read here, because those bytes are the client's.
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
    """Return the list in X-Forwarded-For; several lines of it are one list (RFC 9110, section 5.2).

    A proxy may add a line, after the lines that the client has sent.
    """
    lines = [value.decode("latin-1") for name, value in headers if name == FORWARDED_FOR]
    return ",".join(lines) if lines else None


def client_address(peer: str, forwarded: str | None, trusted: Sequence[Network]) -> str:
    """Return the address of a client, from the peer of its connection and X-Forwarded-For."""
    if forwarded is None:
        return peer
    here = peer
    # From the nearest proxy outwards: the first address that is not a trusted proxy is the client. The client may have
    # written the entries before its own.
    for hop in filter(None, map(str.strip, reversed(forwarded.split(",")))):
        if not is_inside(here, trusted) or (address := _without_port(hop)) is None:
            break
        here = address
    return here


def _without_port(hop: str) -> str | None:
    """Return the IP address of an entry of X-Forwarded-For; None if the entry has none, as in `unknown`.

    Some proxies write the client's port too, as in `192.0.2.1:5678` and `[2001:db8::1]:443`. It is removed, because
    each connection of a client would count as another address.
    """
    found = HOP.fullmatch(hop)
    address = hop if found is None else found["v4"] or found["v6"]
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return None
    return address


def is_inside(address: str, networks: Sequence[Network]) -> bool:
    """True if the address is in any of the networks."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


@lru_cache(maxsize=4096)
def network_subject_of(address: str) -> str:
    """Return the network of an address for limits of networks: a /24 of IPv4, a /48 of IPv6."""
    try:
        parsed = ipaddress.ip_address(subject_of(address).partition("/")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 24 if parsed.version == 4 else 48), strict=False))


@lru_cache(maxsize=4096)
def subject_of(address: str) -> str:
    """Return the subject of an address for rate limits: the /64 of IPv6, because each customer has a whole /64."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


# The address of a client that is connected by a Unix socket.
HERE = ("127.0.0.1", 0)

# The PROXY protocol
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"  # of version 2
LONGEST_LINE = 107  # of version 1
# Version 2: the commands (LOCAL: the proxy connects for itself, such as a health check), and address sizes by family.
LOCAL_COMMAND, PROXY_COMMAND = 0x20, 0x21
TCP_FAMILIES = {0x11: 4, 0x21: 16}
LARGEST_HEADER = 1024  # bytes after the first 16: two addresses, and extensions


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The settings about the addresses of clients."""

    most_connections: int = 512
    trusted_proxies: Sequence[Network] = ()
    proxy_protocol: bool = False


class Addresses:
    """Counts the connections of each address. Trusted proxies and this machine may have any number."""

    def __init__(self, rules: Callable[[], AddressRules]) -> None:
        self._rules = rules  # returns the current rules
        self._connected: dict[str, int] = {}

    async def find(self, stream: trio.SocketStream) -> tuple[str, int] | None:
        """Return the address and the port of a client; None if it is gone, or if its proxy sends no valid header."""
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
        """Count a connection. Return False if the address has too many."""
        subject, rules = subject_of(address), self._rules()
        count = self._connected.get(subject, 0)
        if count >= rules.most_connections and not _is_exempt(address, rules):
            return False
        self._connected[subject] = count + 1
        return True

    def leave(self, address: str) -> None:
        """Uncount a connection that has ended."""
        subject = subject_of(address)
        self._connected[subject] -= 1
        if not self._connected[subject]:
            del self._connected[subject]


def _is_exempt(address: str, rules: AddressRules) -> bool:
    return ipaddress.ip_address(address).is_loopback or is_inside(address, rules.trusted_proxies)


class NoProxyHeader(Exception):
    """Raised if a proxy's connection does not begin with a valid PROXY header."""


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

"""The addresses of clients: who a connection is from, and how many connections one address may have.

A proxy that passes bytes on may say first which client they come from, by the PROXY protocol, versions 1 and 2. The
specification is `doc/proxy-protocol.txt` of HAProxy. Exactly the header is read: what follows is the client's.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio
from hypercorn.utils import parse_socket_addr  # pyright: ignore[reportUnknownVariableType]  # takes an untyped tuple

from ..addresses import Network, is_inside, subject_of
from . import deadlines

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
                with trio.fail_after(deadlines.PROXY_HEADER):
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

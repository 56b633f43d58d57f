"""The PROXY protocol, versions 1 and 2: a proxy that passes bytes on says first which client they come from.

The specification is `doc/proxy-protocol.txt` of HAProxy. Exactly the header is read: what follows is the client's.
"""

from __future__ import annotations

import ipaddress

import trio

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"  # of version 2
LONGEST_LINE = 107  # of version 1
# Version 2: the command of a connection that the proxy makes for itself, and the families with the sizes of an address.
LOCAL, PROXY = 0x20, 0x21
TCP = {0x11: 4, 0x21: 16}
LARGEST = 1024  # of what follows the first 16 bytes: two addresses, and extensions


class NoHeader(Exception):
    """Raised for a connection that does not begin with a header."""


async def read_source(stream: trio.SocketStream) -> tuple[str, int] | None:
    """Read the header. Return the client's address and port; None if the proxy gives none. Raises NoHeader."""
    start = await _exactly(stream, len(SIGNATURE))
    if start == SIGNATURE:
        return await _read_binary(stream)
    if not start.startswith(b"PROXY "):
        raise NoHeader
    while not start.endswith(b"\r\n"):
        if len(start) >= LONGEST_LINE:
            raise NoHeader
        start += await _exactly(stream, 1)
    return _source_of(start.decode("latin-1").split())


async def _read_binary(stream: trio.SocketStream) -> tuple[str, int] | None:
    command, family, *size = await _exactly(stream, 4)
    length = int.from_bytes(size)
    if command not in (LOCAL, PROXY) or length > LARGEST:
        raise NoHeader
    rest = await _exactly(stream, length)
    width = TCP.get(family)
    if command == LOCAL or width is None:
        return None
    if length < 2 * width + 4:
        raise NoHeader
    return str(ipaddress.ip_address(rest[:width])), int.from_bytes(rest[2 * width : 2 * width + 2])


def _source_of(words: list[str]) -> tuple[str, int] | None:
    match words:
        case ["PROXY", "UNKNOWN", *_]:
            return None
        case ["PROXY", "TCP4" | "TCP6", source, _, port, _]:
            try:
                return str(ipaddress.ip_address(source)), int(port)
            except ValueError:
                raise NoHeader from None
        case _:
            raise NoHeader


async def _exactly(stream: trio.SocketStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = await stream.receive_some(size - len(data))
        if not part:
            raise NoHeader
        data += part
    return data

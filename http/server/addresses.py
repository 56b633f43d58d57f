"""The addresses of clients: who a connection is from, and how many connections one address may have."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio
from hypercorn.utils import parse_socket_addr  # pyright: ignore[reportUnknownVariableType]  # takes an untyped tuple

from ..addresses import Network, is_inside, subject_of
from . import deadlines, proxy_protocol

# The address of a client without one, which is connected by a Unix socket.
HERE = ("127.0.0.1", 0)


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
                    return await proxy_protocol.read_source(stream) or peer
        except (OSError, trio.BrokenResourceError, trio.TooSlowError, proxy_protocol.NoHeader):
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

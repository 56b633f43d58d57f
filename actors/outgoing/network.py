"""Connections to checked addresses: a name is resolved once, and the address that was checked is connected to."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

import httpcore2
import trio

from .addresses import is_public
from .errors import ForbiddenTarget, TookTooLong, Unreachable
from .named_hosts import Place

RESOLVING = 5.0  # seconds
CONNECTING = 5.0  # seconds for each address
MOST_ADDRESSES = 4  # of a host that are tried

LOOKUPS = 128  # threads that look names up; one that is given up after RESOLVING is busy for up to a minute

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class NameResolver:
    """Looks names up as the machine does, in threads of its own.

    Name servers that do not answer would take all of Trio's usual threads, and files and uploads would wait for them.
    """

    def __init__(self) -> None:
        self._threads = trio.CapacityLimiter(LOOKUPS)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host, those to try first in front. An address is its own."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        try:
            found = await trio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=self._threads)
        except (OSError, UnicodeError):
            raise Unreachable("the host's name was not found") from None
        return [str(address[0]) for *_, address in found]


class PublicNetwork(httpcore2.AsyncNetworkBackend):
    """What httpcore connects with. Only test hosts may have addresses that are not public."""

    def __init__(self, resolve: Resolve, test_hosts: Mapping[str, Place]) -> None:
        self._resolve = resolve
        self._test_hosts = test_hosts
        # A cast, because type checkers see the class that stands there when Trio is not installed.
        self._sockets = cast("httpcore2.AsyncNetworkBackend", httpcore2.TrioBackend())

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:  # fmt: skip
        """Connect to a host. It is given an address below, which is not looked up again."""
        failure: Exception = Unreachable("the host has no address")
        place = self._test_hosts.get(host)
        addresses, port = ([place[0]], place[1]) if place else (await self.addresses(host, port), port)
        for address in addresses:
            try:
                return await self._sockets.connect_tcp(address, port, CONNECTING, local_address, socket_options or ())
            except httpcore2.ConnectTimeout:
                failure = TookTooLong("no connection in time")
            except httpcore2.ConnectError:
                failure = Unreachable("no connection")
        raise failure

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host that may be connected to. Raise ForbiddenTarget if it has others alone."""
        with trio.move_on_after(RESOLVING):
            found = await self._resolve(host, port)
            allowed = [address for address in found if host in self._test_hosts or is_public(address)]
            if found and not allowed:
                raise ForbiddenTarget("the host has no public address")
            return list(dict.fromkeys(allowed))[:MOST_ADDRESSES]
        raise TookTooLong("the host's name was not found in time")

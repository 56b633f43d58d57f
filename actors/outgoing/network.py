"""Looks up the addresses of hosts, and returns only public addresses."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import trio

from .addresses import Place, is_public
from .messages import ForbiddenTarget, TookTooLong, Unreachable

RESOLVING = 5.0  # seconds
MOST_ADDRESSES = 4  # of a host that are tried

LOOKUPS = 128  # threads that look names up; a lookup that is abandoned after RESOLVING runs for up to a minute

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class NameResolver:
    """Looks names up with the resolver of the machine, in threads with their own limit.

    Name servers that do not answer would take all of Trio's default threads, and files and uploads would wait for them.
    """

    def __init__(self) -> None:
        self._threads = trio.CapacityLimiter(LOOKUPS)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host, in the order in which to try them. An IP address is returned unchanged."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        try:
            found = await trio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=self._threads)
        except (OSError, UnicodeError):
            raise Unreachable("the host's name was not found") from None
        return [str(address[0]) for *_, address in found]


class PublicNetwork:
    """The addresses of hosts. Only test hosts may have addresses that are not public."""

    def __init__(self, resolve: Resolve, test_hosts: Mapping[str, Place]) -> None:
        self._resolve = resolve
        self._test_hosts = test_hosts

    def place_of(self, host: str) -> Place:
        """Return the address and port of a test host that was named with them."""
        return self._test_hosts.get(host)

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the allowed addresses of a host. Raise ForbiddenTarget if none of its addresses is allowed."""
        with trio.move_on_after(RESOLVING):
            found = await self._resolve(host, port)
            allowed = [address for address in found if host in self._test_hosts or is_public(address)]
            if found and not allowed:
                raise ForbiddenTarget("the host has no public address")
            return list(dict.fromkeys(allowed))[:MOST_ADDRESSES]
        raise TookTooLong("the host's name was not found in time")

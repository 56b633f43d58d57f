"""The client for every request that leaves the server. A test checks that no other code connects to hosts.

It accepts URLs in one strict form: https, port 443, no user name, addresses in their usual spelling. It resolves a name
once, connects to the address that it checked (`addresses.py` has the rules), and checks each redirect again. Every
request has limits on time, bytes after decompression, and redirects; a host has at most 8 connections. The setting
`test_hosts` allows private addresses for the hosts that it names. A server that the operator has named in another
setting may have a private address too: it has its own client, which connects only to this scheme, host and port.

The client sends no cookies, uses no proxies of the environment, and verifies certificates (`SSL_CERT_FILE` names other
roots).
"""

from __future__ import annotations

import ssl
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import trio

from .addresses import named_hosts
from .bodies import ENCODINGS, Write
from .host_pools import IDLE, PER_HOST, REQUESTS
from .limiter import RequestLimiter
from .messages import (
    AnswerTooLarge,
    BadAnswer,
    ForbiddenTarget,
    OutgoingAnswer,
    OutgoingRequest,
    RequestLimits,
    TookTooLong,
    Unreachable,
)
from .network import NameResolver, PublicNetwork, Resolve
from .targets import RequestTarget, named_target, redirected, target_of

if TYPE_CHECKING:
    from .connections import Connections

REDIRECTS = (301, 302, 303, 307, 308)


class OutgoingClient:
    """Sends requests. Each process has an instance. `user_agent` names this server.

    A further client with a `named` target is for a server that the operator has named in the settings: it connects only
    to that scheme, host and port, also at a private address.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        test_hosts: Collection[str] = (),
        named: RequestTarget | None = None,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._user_agent = user_agent
        self._test_hosts = named_hosts(test_hosts)
        self._limiter = RequestLimiter(PER_HOST, REQUESTS)
        self._named = named
        self._network = PublicNetwork(
            resolve or NameResolver(), self._test_hosts if named is None else {named.host: None}
        )
        self._tls = tls
        self._connections: Connections | None = None  # after the first request

    def allows(self, url: str) -> bool:
        """True if the URL alone allows a request. The addresses of its host are not checked."""
        try:
            self._target_of(url)
        except ForbiddenTarget:
            return False
        return True

    async def check(self, url: str, *, free_ports: bool = False) -> RequestTarget:
        """Return the target of a URL. Raise ForbiddenTarget if no request with these `free_ports` would be sent there.

        A host whose name is not found now passes: it may be found when a request is sent, and is then checked again.
        """
        target = self._target_of(url, free_ports=free_ports)
        with suppress(Unreachable, TookTooLong):
            await self._network.addresses(target.host, target.port)
        return target

    async def send(self, request: OutgoingRequest, limits: RequestLimits) -> OutgoingAnswer:
        """Send a request and return the answer. Raise OutgoingFailure if there is none within the limits."""
        target = self._target_of(request.url, free_ports=request.free_ports)
        with trio.move_on_after(limits.seconds):
            return await self._follow(request, target, limits)
        raise TookTooLong("no answer in time")

    async def receive(self, request: OutgoingRequest, limits: RequestLimits, write: Write) -> OutgoingAnswer:
        """Send a request, pass the body of an answer 200 to `write` piece by piece, and return the answer without it.

        Raise OutgoingFailure if there is no answer within the limits; something may have been written then.
        """
        target = self._target_of(request.url)
        with trio.move_on_after(limits.seconds):
            return await self._follow(request, target, limits, write)
        raise TookTooLong("no answer in time")

    def inspect(self) -> dict[str, object]:
        """Return the state for operators."""
        return {"connections": len(self._connections or ()), "hosts": len(self._limiter)}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep connections until `stopping`."""
        task_status.started()
        try:
            while not stopping.is_set():
                with trio.move_on_after(IDLE):
                    await stopping.wait()
                if self._connections is not None:
                    await self._connections.close_idle()
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(1):
                if self._connections is not None:
                    await self._connections.close()

    def _target_of(self, url: str, *, free_ports: bool = False) -> RequestTarget:
        """Return the target of a URL. Raise ForbiddenTarget if this client does not connect there."""
        if self._named is None:
            return target_of(url, self._test_hosts, free_ports=free_ports)
        target = named_target(url)
        if target.origin != self._named.origin:
            raise ForbiddenTarget("the URL is not on the server that the operator has named")
        return target

    async def _follow(
        self, request: OutgoingRequest, target: RequestTarget, limits: RequestLimits, write: Write | None = None
    ) -> OutgoingAnswer:
        for _ in range(limits.hops + 1):
            answer = await self._exchange(request, target, limits, write)
            if answer.status not in REDIRECTS or request.method != "GET" or not limits.hops:
                return answer
            if (location := answer.headers.get("location")) is None:
                raise BadAnswer("the redirect leads nowhere")
            leads_to = redirected(target, location, self._target_of)
            if leads_to.origin != target.origin:
                request = replace(request, headers={})  # a signature or a token is meant for one origin
            target = leads_to
        raise AnswerTooLarge("too many redirects")

    async def _exchange(
        self, request: OutgoingRequest, target: RequestTarget, limits: RequestLimits, write: Write | None
    ) -> OutgoingAnswer:
        headers = {
            "Host": target.authority, "User-Agent": self._user_agent, "Accept-Encoding": ENCODINGS,
            "Content-Length": str(len(request.body)), **request.headers,
        }  # fmt: skip
        if request.method == "GET":
            del headers["Content-Length"]
        async with self._limiter.place(target.host):
            if self._connections is None:
                # The library takes 20 ms and 8 MiB, which a server without outgoing requests does not need.
                self._connections = _connections(self._network, self._tls)
            return await self._connections.exchange(request, headers, target, limits, write)


def _connections(network: PublicNetwork, tls: ssl.SSLContext | None) -> Connections:
    from .connections import Connections  # late: see above

    return Connections(network, tls)

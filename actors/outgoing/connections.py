"""Connections to other servers, by httpcore2. Imported with the client's first request."""

from __future__ import annotations

import ssl
from collections.abc import Generator, Iterable, Mapping
from contextlib import aclosing, contextmanager
from typing import cast

import httpcore2

from .bodies import Write, copy_body, read_body
from .host_pools import IDLE, IDLE_PER_HOST, PER_HOST, HostPools
from .messages import (
    AnswerTooLarge,
    BadAnswer,
    OutgoingAnswer,
    OutgoingFailure,
    OutgoingRequest,
    RequestLimits,
    TookTooLong,
    Unreachable,
)
from .network import PublicNetwork
from .targets import RequestTarget

CONNECTING = 5.0  # seconds for each address
LONGEST_HEAD = 32 * 1024


class CheckedSockets(httpcore2.AsyncNetworkBackend):
    """The network backend of httpcore. It resolves a name once, and connects to the address that was checked."""

    def __init__(self, network: PublicNetwork) -> None:
        self._network = network
        # A cast, because type checkers see the class for an environment without Trio.
        self._sockets = cast("httpcore2.AsyncNetworkBackend", httpcore2.TrioBackend())

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:  # fmt: skip
        """Connect to a host. The library below gets an address, which it does not look up again."""
        failure: Exception = Unreachable("the host has no address")
        place = self._network.place_of(host)
        addresses, port = ([place[0]], place[1]) if place else (await self._network.addresses(host, port), port)
        for address in addresses:
            try:
                return await self._sockets.connect_tcp(address, port, CONNECTING, local_address, socket_options or ())
            except httpcore2.ConnectTimeout:
                failure = TookTooLong("no connection in time")
            except httpcore2.ConnectError:
                failure = Unreachable("no connection")
        raise failure


class Connections:
    """The connections of a client."""

    def __init__(self, network: PublicNetwork, tls: ssl.SSLContext | None) -> None:
        self._tls = tls or httpcore2.default_ssl_context()
        self._sockets = CheckedSockets(network)
        self._pools = HostPools(self._make_pool)

    def _make_pool(self) -> httpcore2.AsyncConnectionPool:
        return httpcore2.AsyncConnectionPool(
            ssl_context=self._tls, max_connections=PER_HOST, max_keepalive_connections=IDLE_PER_HOST,
            keepalive_expiry=IDLE, network_backend=self._sockets,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._pools)

    async def close(self) -> None:
        await self._pools.close_all()

    async def close_idle(self) -> None:
        """Close the connections that have been unused for too long."""
        await self._pools.close_idle()

    async def exchange(
        self, request: OutgoingRequest, headers: Mapping[str, str], target: RequestTarget, limits: RequestLimits,
        write: Write | None,
    ) -> OutgoingAnswer:  # fmt: skip
        """Send a request and read its answer. Raise OutgoingFailure."""
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        # The library declares a dict with both types.
        sent: dict[str | bytes, str | bytes] = {**headers}
        async with self._pools.use(target.host) as pool:
            with _explained():
                async with pool.stream(request.method, url, headers=sent, content=request.body) as response:
                    return await _read(response, target, limits, write)


async def _read(
    response: httpcore2.Response, target: RequestTarget, limits: RequestLimits, write: Write | None
) -> OutgoingAnswer:
    if sum(len(name) + len(value) for name, value in response.headers) > LONGEST_HEAD:
        raise AnswerTooLarge("the answer's headers have too many bytes")
    headers = _headers_of(response)
    async with aclosing(response.aiter_stream()) as chunks:
        if write is not None and response.status == 200:
            await copy_body(chunks, headers.get("content-encoding", ""), limits.body, write)
            return OutgoingAnswer(response.status, headers, b"", target.url)
        body = await read_body(chunks, headers.get("content-encoding", ""), limits.body, cut=limits.cut)
    return OutgoingAnswer(response.status, headers, body, target.url)


def _headers_of(response: httpcore2.Response) -> dict[str, str]:
    """Return the headers by their names in lower case. If a header is there twice, the last counts. `Link` is a list,
    which servers write on one line or several."""
    headers = {name.decode("ascii").lower(): _text(value) for name, value in response.headers}
    links = [_text(value) for name, value in response.headers if name.lower() == b"link"]
    return headers | {"link": ", ".join(links)} if len(links) > 1 else headers


def _text(value: bytes) -> str:
    """Return the value of a header. Many servers write addresses in `Location` and `Link` as they are, in UTF-8, as
    browsers read them; Latin-1 is the charset of old standards."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


@contextmanager
def _explained() -> Generator[None]:
    """Raise the library's errors as ours, because their texts may quote the other server."""
    try:
        yield
    except OutgoingFailure:
        raise
    except httpcore2.TimeoutException:
        raise TookTooLong("no answer in time") from None
    except httpcore2.NetworkError:
        raise Unreachable("the connection failed") from None
    except httpcore2.ProtocolError:
        raise BadAnswer("the answer is not HTTP, or there was none") from None

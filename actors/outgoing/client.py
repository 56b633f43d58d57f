"""The client for every request that leaves the server. No other code of the project opens connections to other hosts.

It sends no cookies, asks no proxies of the environment, and verifies certificates (`SSL_CERT_FILE` names other roots).
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Collection, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace

import httpcore2
import trio

from .bodies import ENCODINGS, Write, copy_body, read_body
from .errors import BadAnswer, ForbiddenTarget, OutgoingFailure, TookTooLong, TooLarge, Unreachable
from .named_hosts import named_hosts
from .network import NameResolver, PublicNetwork, Resolve
from .targets import Target, named_target, redirected, target_of

CONNECTIONS = 256  # to all hosts: slow ones must not take them all
PER_HOST = 8
IDLE = 30.0  # seconds that an unused connection is kept
LONGEST_HEAD = 32 * 1024

REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request may take. `hops` are redirects; without any, a redirect is an answer like others.

    With `cut` the beginning of a longer answer is enough, and the rest is not read.
    """

    seconds: float
    body: int  # bytes of the answer, before and after decompression
    hops: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request to another server. Redirects are followed for GET alone, and take no headers to another origin."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class OutgoingAnswer:
    """What another server answered. Names of headers are in lower case; of repeated ones the last is here.

    `url` is the address that answered: after redirects another one than was asked.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


@dataclass(slots=True)
class _Gate:
    """The requests to one host: those that run, and those that wait."""

    places: trio.Semaphore = field(default_factory=lambda: trio.Semaphore(PER_HOST))
    requests: int = 0


class OutgoingClient:
    """One for each process. `user_agent` says which server asks.

    A client with a `named` target is one more, for a server that the operator has named in the settings: it connects to
    that scheme, host and port alone, also at a private address.
    """

    def __init__(
        self,
        user_agent: str,
        *,
        test_hosts: Collection[str] = (),
        named: Target | None = None,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._user_agent = user_agent
        self._test_hosts = named_hosts(test_hosts)
        self._hosts: dict[str, _Gate] = {}  # those with requests now
        self._named = named
        self._network = PublicNetwork(
            resolve or NameResolver(), self._test_hosts if named is None else {named.host: None}
        )
        self._connections = httpcore2.AsyncConnectionPool(
            ssl_context=tls or httpcore2.default_ssl_context(), max_connections=CONNECTIONS,
            max_keepalive_connections=CONNECTIONS // 2, keepalive_expiry=IDLE,
            network_backend=self._network,
        )  # fmt: skip

    def allows(self, url: str) -> bool:
        """True if a request may be sent to a URL, as far as the URL alone can tell."""
        try:
            self._target_of(url)
        except ForbiddenTarget:
            return False
        return True

    async def check(self, url: str) -> Target:
        """Return where a URL leads. Raise ForbiddenTarget for one that no request would be sent to.

        A host whose name is not found now passes: it may be found when a request is sent, and is then checked again.
        """
        target = self._target_of(url)
        with suppress(Unreachable, TookTooLong):
            await self._network.addresses(target.host, target.port)
        return target

    async def send(self, request: OutgoingRequest, limits: RequestLimits) -> OutgoingAnswer:
        """Send a request and return the answer. Raise OutgoingFailure if there is none within the limits."""
        target = self._target_of(request.url)
        with trio.move_on_after(limits.seconds):
            return await self._follow(request, target, limits)
        raise TookTooLong("no answer in time")

    async def receive(self, request: OutgoingRequest, limits: RequestLimits, write: Write) -> OutgoingAnswer:
        """Send a request, give the body of a good answer to `write` piece by piece, and return the answer without it.

        Raise OutgoingFailure if there is no answer within the limits; something may have been written then.
        """
        target = self._target_of(request.url)
        with trio.move_on_after(limits.seconds):
            return await self._follow(request, target, limits, write)
        raise TookTooLong("no answer in time")

    def inspect(self) -> dict[str, object]:
        """Return what an operator sees."""
        return {"connections": len(self._connections.connections), "hosts": len(self._hosts)}

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep connections until `stopping`."""
        task_status.started()
        try:
            await stopping.wait()
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(1):
                await self._connections.aclose()

    def _target_of(self, url: str) -> Target:
        """Return where a URL leads. Raise ForbiddenTarget if this client does not connect there."""
        if self._named is None:
            return target_of(url, self._test_hosts)
        target = named_target(url)
        if target.origin != self._named.origin:
            raise ForbiddenTarget("the URL is not on the server that the operator has named")
        return target

    async def _follow(
        self, request: OutgoingRequest, target: Target, limits: RequestLimits, write: Write | None = None
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
        raise TooLarge("too many redirects")

    async def _exchange(
        self, request: OutgoingRequest, target: Target, limits: RequestLimits, write: Write | None
    ) -> OutgoingAnswer:
        headers: dict[str | bytes, str | bytes] = {
            "Host": target.authority, "User-Agent": self._user_agent, "Accept-Encoding": ENCODINGS,
            "Content-Length": str(len(request.body)), **request.headers,
        }  # fmt: skip
        if request.method == "GET":
            del headers["Content-Length"]
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        async with self._turn(target.host):
            with _explained():
                stream = self._connections.stream(request.method, url, headers=headers, content=request.body)
                async with stream as response:
                    return await _read(response, target, limits, write)

    @asynccontextmanager
    async def _turn(self, host: str) -> AsyncGenerator[None]:
        """Wait until fewer than `PER_HOST` requests to a host run. Hosts without requests are forgotten."""
        gate = self._hosts.setdefault(host, _Gate())
        gate.requests += 1
        try:
            async with gate.places:
                yield
        finally:
            gate.requests -= 1
            if not gate.requests:
                del self._hosts[host]


async def _read(
    response: httpcore2.Response, target: Target, limits: RequestLimits, write: Write | None
) -> OutgoingAnswer:
    if sum(len(name) + len(value) for name, value in response.headers) > LONGEST_HEAD:
        raise TooLarge("the answer's headers have too many bytes")
    headers = {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}
    async with aclosing(response.aiter_stream()) as chunks:
        if write is not None and response.status == 200:
            await copy_body(chunks, headers.get("content-encoding", ""), limits.body, write)
            return OutgoingAnswer(response.status, headers, b"", target.url)
        body = await read_body(chunks, headers.get("content-encoding", ""), limits.body, cut=limits.cut)
    return OutgoingAnswer(response.status, headers, body, target.url)


@contextmanager
def _explained() -> Generator[None]:
    """Raise the library's errors as ours. Theirs may quote what the other server said."""
    try:
        yield
    except OutgoingFailure:
        raise
    except httpcore2.TimeoutException:
        raise TookTooLong("no answer in time") from None
    except httpcore2.NetworkError:
        raise Unreachable("the connection failed") from None
    except httpcore2.ProtocolError:
        raise BadAnswer("the answer is no HTTP, or there was none") from None

"""The API of a simulated server: requests go to the endpoints themselves, streams to the sessions of connections.

There is no socket and no framework between a client and this. Everything else is the server's own: tokens, scopes,
input, refusals, JSON.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import orjson
import trio
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from ....actors.activitypub.public_keys import KEY_SIZES
from ....actors.cluster.others import Incomplete
from ....actors.configuration import Settings
from ....actors.federation.federation import Federation
from ....actors.federation.reception import Reception
from ....actors.kernel import Origin, Record
from ....actors.media.processor import MediaProcessor
from ....actors.memory.push_key import PushKey
from ....actors.outgoing.client import OutgoingClient
from ....actors.outgoing.mail_servers import UNKNOWN, MailServers
from ....http.access.context import HttpContext
from ....http.dispatch import respond
from ....http.intake.request import Request
from ....http.router import all_paths
from ....http.streaming.channels import StreamQuery, by_name
from ....http.streaming.frames import WebSocketFrames
from ....http.streaming.session import StreamSession
from ....storage.files import Folder
from ...children.actor_system import ActorSystem
from ..lockstep import LockstepDatabase
from ..run import VirtualClock

ROOM = 256  # frames that may wait for a client


class NoEndpoint(LookupError):
    """Raised for a path that the server does not have."""


class Dropped(Exception):
    """Raised when the server was killed before it answered."""


async def _no_answer(domain: str, network: str) -> MailServers:
    return UNKNOWN


class SimulatedReply:
    """A complete response."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    @cached_property
    def json(self) -> Any:  # a scenario knows the type
        """Return the body, which is JSON."""
        return orjson.loads(self.body) if self.body else None


class SimulatedApi:
    """The API of a server process."""

    def __init__(
        self, clock: VirtualClock, database: LockstepDatabase, actors: ActorSystem, outgoing: OutgoingClient,
        federation: Federation, record: Record,
    ) -> None:  # fmt: skip
        runtime = actors.runtime
        folder = Path(tempfile.gettempdir()) / "troupe-simulation-without-media"  # there are no uploads here
        settings = Settings(domain=actors.actor_context.local_domain, rate_limits=False, data=folder)
        numbers = count(1)
        self.http_context = HttpContext(
            settings=settings, database=database, runtime=runtime, clock=clock,
            ids=actors.actor_context.ids,
            record=record, secret=lambda: f"secret-{next(numbers)}", push_key=PushKey(),
            accounts=actors.accounts, statuses=actors.statuses, facts=actors.facts, viewers=actors.viewers,
            withdrawals=actors.withdrawals, blocks=actors.blocks,
            media=MediaProcessor(
                database, runtime, clock, record, actors.outbox, Folder(folder, settings.node),
                actors.actor_context.others, key=lambda: f"{next(numbers)}",
            ),
            mail_servers=_no_answer,
            outgoing=outgoing,
            federation=federation,
            reception=Reception(actors.actor_context, federation.directory, federation.resolver.check_later),
        )  # fmt: skip
        self._frames = WebSocketFrames(self.http_context.rendered, settings.base_url)
        self._requests: dict[trio.CancelScope, None] = {}

    async def send(
        self,
        method: str,
        path: str,
        token: str | None = None,
        fields: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> SimulatedReply:
        """Send a request, with its fields where the method needs them.

        Raises Dropped if the server is killed meanwhile.
        """
        query, body = (urlencode(fields or {}), b"") if method == "GET" else ("", orjson.dumps(fields or {}))
        given = {"content-type": "application/json", "content-length": str(len(body))} if body else {}
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        raw = [(name.lower().encode(), value.encode()) for name, value in {**given, **(headers or {})}.items()]
        request = Request(method, path, query.encode(), raw, "192.0.2.1", _chunks(body), "of-a-client")
        return await self._answered(request)

    async def receive(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> SimulatedReply:
        """Take a request as another server sends it. Raises Dropped if the server is killed meanwhile."""
        path, _, query = target.partition("?")
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        return await self._answered(
            Request(method, unquote(path), query.encode(), raw, "192.0.2.2", _chunks(body), "of-a-server")
        )

    async def _answered(self, request: Request) -> SimulatedReply:
        found = all_paths().find(request.method, request.path)
        if found is None:
            raise NoEndpoint(f"{request.method} {request.path}")
        with trio.CancelScope() as life:
            self._requests[life] = None
            try:
                answer = await respond(self.http_context, found[0], request, found[1])
                headers = {"content-type": answer.content_type, **dict(answer.headers)}
                return SimulatedReply(answer.status, answer.body, headers)
            finally:
                del self._requests[life]
        raise Dropped

    async def stream(self, name: str, token: str, parameter: str = "", since: str = "") -> StreamSession:
        """An open stream; its frames are a WebSocket's. Raises NotAnswered and StorageError."""
        if not self.http_context.others.is_complete:
            raise Incomplete
        known = await self.http_context.tokens.find(self.http_context.database, token)
        http_context = self.http_context
        session = StreamSession(
            http_context.runtime, http_context.viewers, http_context.withdrawals, http_context.others,
            known, Origin("of-a-stream"),
            self._frames, ROOM, http_context.record,
        )  # fmt: skip
        http_context.streams.add(session)
        try:
            await session.watch_account()
            await session.subscribe(by_name(StreamQuery(stream=name, tag=parameter, list=parameter)), since)
        except BaseException:
            http_context.streams.remove(session)
            session.close()
            raise
        return session

    def hang_up(self) -> None:
        """Answer no more requests, because the process is dead."""
        for life in list(self._requests):
            life.cancel()


@cache
def _private_key(domain: str) -> RSAPrivateKey:
    """Return the shortest key that servers take: signing with a key of the usual size takes five times as long."""
    return generate_private_key(65537, KEY_SIZES[0])


async def a_key(domain: str) -> RSAPrivateKey:
    """Return the key of all actors of a server: making each key would need threads, and time."""
    return _private_key(domain)


@cache
def nowhere() -> OutgoingClient:
    """The client of servers whose run has no network."""
    return OutgoingClient("simulation", resolve=_anywhere, tls=no_tls())


@cache
def no_tls() -> ssl.SSLContext:
    """Return an empty context: loading trusted certificates takes milliseconds, and the client makes no connections."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def _anywhere(host: str, port: int) -> Sequence[str]:
    """Look names up without a network."""
    return ["93.184.216.34"]


async def _chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body

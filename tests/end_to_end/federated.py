"""Two or more servers that federate with each other: real processes, real sockets, real TLS with a CA of their own.

Each server listens in plain HTTP, as behind a proxy; in front of it a thread ends TLS. Servers find each other by the
setting `test_hosts`, so no name server and no port 443 are needed.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from ssl import SSLContext
from types import TracebackType
from typing import Self

import trio

from ..certificates import certificate
from ..data_folders import copy_data
from .server import Server, free_port

CHUNK = 64 * 1024
STOP = 10  # seconds
SHORT_TIMES = {"TROUPE_FEDERATION_FIRST_RETRY": "0.2", "TROUPE_FEDERATION_TALLY_DELAY": "0"}


class TlsFront:
    """What stands in front of a server: it ends TLS on a port of its own, and passes the bytes on.

    While it is `closed`, the server behind it can't be reached by the others.
    """

    def __init__(self, tls: SSLContext, behind: int) -> None:
        self.port = free_port()
        self._tls = tls
        self._behind = behind
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._serve, ready), daemon=True)
        self._thread.start()
        assert ready.wait(STOP)

    def close(self) -> None:
        """Cut all connections, and take no more."""
        if self._thread is not None:
            self._token.run_sync_soon(self._scope.cancel)
            self._thread.join(STOP)
            self._thread = None

    async def _serve(self, ready: threading.Event) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with trio.CancelScope() as self._scope:
            async with trio.open_nursery() as nursery:
                await nursery.start(trio.serve_ssl_over_tcp, self._pass_on, self.port, self._tls)
                ready.set()

    async def _pass_on(self, outside: trio.SSLStream[trio.SocketStream]) -> None:
        try:
            inside = await trio.open_tcp_stream("127.0.0.1", self._behind)
            async with outside, inside, trio.open_nursery() as nursery:
                nursery.start_soon(_pump, outside, inside)
                await _pump(inside, outside)
                nursery.cancel_scope.cancel()
        except* (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass


async def _pump(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
    while chunk := await source.receive_some(CHUNK):
        await sink.send_all(chunk)


class FederatedServer(Server):
    """A server with a name of its own. `front` is how the others reach it."""

    def __init__(self, data: Path, domain: str, tls: SSLContext) -> None:
        super().__init__(data, TROUPE_DOMAIN=domain)
        self.domain = domain
        self.front = TlsFront(tls, self.port)

    @property
    def place(self) -> str:
        return f"{self.domain}=127.0.0.1:{self.front.port}"


@contextmanager
def federated(
    folder: Path, prepared: Path, domains: Sequence[str], **settings: str
) -> Generator[list[FederatedServer]]:
    """Servers under these names, which are not started yet, and the fronts that lead to them."""
    made = certificate(folder, hosts=domains)
    with ExitStack() as ends:
        servers: list[FederatedServer] = []
        for domain in domains:
            copy_data(prepared, folder / domain)
            one = FederatedServer(folder / domain, domain, made.server)
            ends.callback(one.end)
            ends.enter_context(one.front)
            servers.append(one)
        places = ",".join(one.place for one in servers)
        for one in servers:
            one.settings |= {"TROUPE_TEST_HOSTS": places, "SSL_CERT_FILE": str(made.file)} | SHORT_TIMES | settings
        yield servers

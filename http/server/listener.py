"""The HTTP server: its listening sockets, its connections and how it stops. hypercorn calls the application."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import re
import socket
import ssl
import struct
from collections.abc import Callable, Generator, Sequence, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ASGIFramework
from hypercorn.utils import wrap_app  # pyright: ignore[reportUnknownVariableType]  # some of its types are open

from ...actors.kernel import Record
from ..answers.refusals import overloaded
from . import limits
from .addresses import Addresses, AddressRules
from .connection import ClientConnection
from .plain import FastRequests
from .stream_sockets import StreamOwner, StreamSocket, StreamSockets

# hypercorn closes a connection after this many requests, and may lose a request that is on its way then.
REQUESTS_PER_CONNECTION = 1_000_000
LARGEST_HEAD = 64 * 1024  # bytes
LARGEST_MESSAGE = 64 * 1024  # of a WebSocket; clients only send subscriptions
# Clients that get a 503 at the same time; they use descriptors of the reserve. Others are closed without an answer.
REFUSED_AT_ONCE = 32
# The first line of a request with a path. A request with a whole URL is redirected to `/`.
REQUEST_LINE = re.compile(rb"([A-Z]{1,20}) (/[!-~]{0,8000}) HTTP/1\.[01]\r\n")

BACKLOG = 1024  # connections that wait to be accepted
# Errors of a machine without IPv4 or without IPv6, or for an address of another machine.
NO_SUCH_ADDRESS = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
SO_ATTACH_FILTER = 26  # Linux (asm-generic/socket.h)
# A program for the kernel's packet filter (linux/filter.h) that drops TCP packets with the flag SYN, and so the first
# packet of each connection.
DROP_SYN = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # load the byte with the flags
        (0x45, 0, 1, 0x02),  # if SYN is not set, skip an instruction
        (0x06, 0, 0, 0),  # drop the packet
        (0x06, 0, 0, 0xFFFFFFFF),  # accept the packet
    )
)
LOOKS = 10  # polls for new clients during `limits.LINGER`


def hypercorn_config() -> Config:
    """Return hypercorn's configuration. It binds no sockets: `bind` does."""
    config = Config()
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    config.keep_alive_timeout = limits.KEEP_ALIVE
    config.keep_alive_max_requests = REQUESTS_PER_CONNECTION
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.include_server_header = False
    config.websocket_max_message_size = LARGEST_MESSAGE
    config.websocket_ping_interval = limits.PING
    return config


def _ignore(event: str, /, **facts: object) -> None:
    """A log of hypercorn that records nothing."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """The TLS of a server without a proxy. `context` returns the SSL context of the next handshake."""

    context: Callable[[], ssl.SSLContext]
    base_url: str = ""
    redirect_port: int | None = None  # the port without TLS, whose clients are sent to `base_url`

    def is_for_redirects(self, connected: trio.socket.SocketType) -> bool:
        """True for a connection to the port without TLS."""
        return self.redirect_port is not None and connected.getsockname()[1] == self.redirect_port

    def redirect(self, head: bytes) -> bytes:
        """Return the answer to a request without TLS: to the same path by https, with the same method (RFC 9110)."""
        line = REQUEST_LINE.match(head)
        method, path = (line[1], line[2]) if line else (b"GET", b"/")
        status = "301 Moved Permanently" if method in (b"GET", b"HEAD") else "308 Permanent Redirect"
        location = f"{self.base_url}{path.decode('ascii')}"
        return f"HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()


async def serve(
    app: ASGIFramework,
    listeners: Sequence[socket.socket],
    stopping: trio.Event,
    grace: float,
    *,
    record: Record = _ignore,
    encryption: Encryption | None = None,
    fast: FastRequests | None = None,
    rules: Callable[[], AddressRules] = AddressRules,
    release: Callable[[], bool] = lambda: True,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `stopping`. Then accept no connections, finish running requests within `grace` seconds, and return.

    Requests get 503 if too few file descriptors are left, or if their address has too many connections. `release` is
    called when the server accepts no more. If it returns True, new clients are refused, and clients that have connected
    are served. If it returns False, another process has the listening sockets too, and serves the clients that wait.
    """
    context, sockets = WorkerContext(None), StreamSockets()
    clients = Clients(wrap_app(app, 0, "asgi"), hypercorn_config(), context, record, encryption, fast, rules, sockets)
    listening = [trio.SocketListener(trio.socket.from_stdlib_socket(listener)) for listener in listeners]
    async with trio.open_nursery() as streams:
        await streams.start(sockets.run)
        with copies_of(listeners) as queues:
            async with trio.open_nursery() as connections:
                try:
                    async with trio.open_nursery() as accepting:
                        accept = partial(trio.serve_listeners, clients.serve, listening, handler_nursery=connections)
                        accepting.start_soon(accept)
                        if fast is not None:
                            accepting.start_soon(fast.watch)
                        task_status.started()
                        await stopping.wait()
                        accepting.cancel_scope.cancel()
                    await context.terminate.set()
                    closing = ClosingListeners(queues if release() else [])
                    with trio.move_on_after(grace):
                        await closing.empty(partial(connections.start_soon, clients.serve), connections.child_tasks)
                        await clients.finish()
                finally:
                    clients.abort()
                connections.cancel_scope.deadline = trio.current_time() + limits.CLOSE
        streams.cancel_scope.cancel()


class Clients:
    """All connections that are open."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        record: Record,
        encryption: Encryption | None,
        fast: FastRequests | None,
        rules: Callable[[], AddressRules],
        sockets: StreamSockets,
    ) -> None:
        self._app = app
        self._config = config
        self._context = context
        self._end = limits.end_of_connections()
        self._record = record
        self._encryption = encryption
        self._fast = fast
        self._addresses = Addresses(rules)
        self._sockets = sockets
        self._connected: set[ClientConnection | StreamSocket] = set()
        self._refused = 0
        self._over = False
        self._changed = trio.Event()

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve a client, or refuse it when too few descriptors are left or its address has too many connections."""
        try:
            await self._admit(stream)
        finally:
            await trio.aclose_forcefully(stream)

    async def _admit(self, stream: trio.SocketStream) -> None:
        if stream.socket.fileno() >= self._end:
            self._record("connections.full", decision=f"503 to those with a file descriptor from {self._end} on")
            await self._refuse(stream)
            return
        client = await self._addresses.find(stream)
        if client is None:
            return
        if self._addresses.enter(client[0]):
            if self._encryption is not None and self._encryption.is_for_redirects(stream.socket):
                await self._redirect(stream, self._encryption)
                self._leave(client[0])
            else:
                await self._run(stream, client)
        else:
            self._record("connections.full", decision=f"503 to {client[0]}, which has too many connections")
            await self._refuse(stream)

    async def _run(self, stream: trio.SocketStream, client: tuple[str, int]) -> None:
        tls = None if self._encryption is None else self._encryption.context()
        connection = ClientConnection(self._app, self._config, self._context, stream, client, tls, self._fast)
        self._connected.add(connection)
        if self._over:
            connection.abort()
        left: tuple[socket.socket, StreamOwner, bytes] | None = None
        try:
            await connection.run()
            left = connection.take_new_owner()
        finally:
            self._connected.discard(connection)
            if left is None:
                self._leave(client[0])
        if left is not None:
            self._go_on_as_stream(*left, client[0])

    def _go_on_as_stream(self, opened: socket.socket, owner: StreamOwner, early: bytes, address: str) -> None:
        """Serve a socket without a task. The socket counts as a connection until it is closed."""

        def end() -> None:
            self._connected.discard(stream)
            self._leave(address)

        stream = StreamSocket(self._sockets, opened, owner, end)
        self._connected.add(stream)
        self._sockets.add(stream)
        if early:
            stream.take(early)

    def _leave(self, address: str) -> None:
        self._addresses.leave(address)
        self._changed.set()

    async def finish(self) -> None:
        """End the idle connections, and wait for the others."""
        await self._context.terminated.set()
        for connection in self._connected:
            connection.close_if_idle()
        while self._connected:
            self._changed = trio.Event()
            await self._changed.wait()

    def abort(self) -> None:
        """End all connections, and each later connection at once."""
        self._over = True
        for connection in list(self._connected):
            connection.abort()

    async def _redirect(self, stream: trio.SocketStream, encryption: Encryption) -> None:
        """Redirect a client without TLS to the https URL of its request."""
        try:
            with trio.move_on_after(limits.REFUSAL):
                await _answer(stream, encryption.redirect)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # The client is gone.

    async def _refuse(self, stream: trio.SocketStream) -> None:
        self._refused += 1
        try:
            if self._refused <= REFUSED_AT_ONCE and self._encryption is None:
                with trio.move_on_after(limits.REFUSAL):
                    await _answer(stream, lambda head: overloaded().http_1(closes=True))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # The client is gone.
        finally:
            self._refused -= 1


async def _answer(stream: trio.SocketStream, answer: Callable[[bytes], bytes]) -> None:
    """Send the answer to the head of a request, and close as soon as the client has."""
    # Some clients don't read an answer before they have sent a request.
    await stream.send_all(answer(await _read_head(stream)))
    await stream.send_eof()
    while await stream.receive_some():
        pass


async def _read_head(stream: trio.SocketStream) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < LARGEST_HEAD:
        part = await stream.receive_some()
        if not part:
            break
        head += part
    return head


def bind(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """Return listening sockets for all addresses. Raises OSError.

    An address that the machine can't have (IPv4 or IPv6 is missing) is skipped if another address has its port.
    """
    bound: list[socket.socket] = []
    missing: dict[int, OSError] = {}
    served: set[int] = set()
    try:
        for host, port in addresses:
            try:
                bound.append(_bind(host, port))
                served.add(port)
            except OSError as error:
                if error.errno not in NO_SUCH_ADDRESS:
                    raise
                missing.setdefault(port, error)
        for port in missing.keys() - served:
            raise missing[port]
    except OSError:
        for listener in bound:
            listener.close()
        raise
    return bound


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # IPv4 and IPv6 have separate sockets, so that an IPv6 address in the settings does not listen on IPv4 too.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def bind_path(path: Path) -> socket.socket:
    """Return a listening Unix socket. It replaces a socket file that no server listens on. Raises OSError."""
    if path.exists() and not path.is_socket():
        raise FileExistsError(errno.EEXIST, "this is not a socket")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        if listener.connect_ex(str(path)) not in (errno.ENOENT, errno.ECONNREFUSED):
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        path.unlink(missing_ok=True)
        mask = os.umask(0o117)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
    except OSError:
        listener.close()
        raise
    listener.listen(BACKLOG)
    return listener


@contextmanager
def copies_of(listeners: Sequence[socket.socket]) -> Generator[list[socket.socket]]:
    """Return copies of the listening sockets. Trio closes the originals, and connections may still wait in them."""
    with ExitStack() as opened:
        yield [opened.enter_context(listener.dup()) for listener in listeners]


class ClosingListeners:
    """Listening sockets of a server that stops. Connected clients are served; new clients can't connect.

    A client that connects between the last `accept` and the close of the socket would be reset.
    """

    def __init__(self, listeners: Sequence[socket.socket]) -> None:
        self._listeners = listeners
        self._is_local = all(map(_is_local, listeners))
        for listener in listeners:
            keep_out(listener)

    async def empty(self, serve: Callable[[trio.SocketStream], None], connections: Set[object]) -> None:
        """Serve all clients that wait, and close the sockets.

        Wait until no client has come for `limits.LINGER` seconds: handshakes that have begun should end in this time,
        and open connections may send another request. Local sockets need no wait: their handshakes take no time.
        """
        try:
            looks_left = LOOKS
            if not self._accept(serve) and self._is_local and not connections:
                return
            while looks_left:
                await trio.sleep(limits.LINGER / LOOKS)
                looks_left = LOOKS if self._accept(serve) else looks_left - 1
        finally:
            for listener in self._listeners:
                listener.close()

    def _accept(self, serve: Callable[[trio.SocketStream], None]) -> bool:
        """Serve the clients that wait now. Return True if there are any."""
        found = False
        for listener in self._listeners:
            with suppress(OSError):  # no client is left, or no file descriptor
                while True:
                    waiting, _ = listener.accept()
                    serve(trio.SocketStream(trio.socket.from_stdlib_socket(waiting)))
                    found = True
        return found


def keep_out(listener: socket.socket) -> None:
    """Let no more clients connect to a listening socket. Connected clients stay, also if they are not accepted yet.

    A packet filter drops the packets that begin a connection. The client repeats them after a second: then it is
    refused, or reaches the next server. Shutdown of a TCP socket was turned down, because it resets the clients that
    wait; `listen(0)` was turned down, because it still lets a client connect.
    """
    if listener.family == socket.AF_UNIX:
        listener.shutdown(socket.SHUT_RD)
        return
    program = ctypes.create_string_buffer(DROP_SYN)
    with suppress(OSError):  # Without a filter, a client that connects in the last instant is cut.
        listener.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", len(DROP_SYN) // 8, ctypes.addressof(program))
        )


def _is_local(listener: socket.socket) -> bool:
    """True if only clients on this machine reach a listening socket."""
    return listener.family == socket.AF_UNIX or ip_address(listener.getsockname()[0]).is_loopback

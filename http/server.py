"""hypercorn around the application: where it listens, what it puts up with, and how it stops."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ASGIFramework, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, Scope
from hypercorn.utils import wrap_app

from .connection import Connection

# A connection that says nothing, or only half of its headers, for so long is closed.
KEEP_ALIVE_SECONDS = 75
# Hypercorn closes a connection after so many requests; a busy client's next request would get lost in that.
REQUESTS_PER_CONNECTION = 1_000_000
LARGEST_HEAD = 64 * 1024
LARGEST_MESSAGE = 64 * 1024  # of a WebSocket; clients only send subscriptions
PING_SECONDS = 30.0
BACKLOG = 1024
# How long a stopping server still hears connections that have nothing to do: the next request may be on its way.
LINGER_SECONDS = 0.5


def bind(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """Listening sockets for all addresses, or OSError. A host without IPv6 serves the IPv4 address alone."""
    bound: list[socket.socket] = []
    try:
        for host, port in addresses:
            bound += _bind_one(host, port, needed=not bound or ":" not in host)
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def _bind_one(host: str, port: int, *, needed: bool) -> list[socket.socket]:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError:
        if needed:
            raise
        return []
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        # Both families have a socket of their own, so that each address in the settings means itself.
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        if needed or error.errno != errno.EADDRNOTAVAIL:  # IPv6 is there and switched off
            raise
        return []
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return [listener]


def hypercorn_config(grace: float) -> Config:
    """What hypercorn is told; the sockets are bound by us."""
    config = Config()
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    config.graceful_timeout = grace
    config.keep_alive_timeout = KEEP_ALIVE_SECONDS
    config.keep_alive_max_requests = REQUESTS_PER_CONNECTION
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.include_server_header = False
    config.websocket_max_message_size = LARGEST_MESSAGE
    config.websocket_ping_interval = PING_SECONDS
    return config


async def serve(
    app: ASGIFramework,
    listeners: Sequence[socket.socket],
    stopping: trio.Event,
    grace: float,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `stopping`; then take no new connections, finish what runs within the grace, and return."""
    context, config = WorkerContext(None), hypercorn_config(grace)
    served = wrap_app(_ending_in_peace(app, stopping), 0, "asgi")

    connected: set[Connection] = set()

    async def accept(stream: trio.SocketStream) -> None:
        connection = Connection(served, config, context, stream)
        connected.add(connection)
        try:
            await connection.run()
        finally:
            connected.discard(connection)

    listening = [_wrapped(listener) for listener in listeners]
    # What is accepted by the kernel and not yet by us must outlive trio's own listeners, which close what they hold.
    queues = [listener.dup() for listener in listeners]
    async with trio.open_nursery() as connections:
        async with trio.open_nursery() as accepting:
            await accepting.start(partial(trio.serve_listeners, accept, listening, handler_nursery=connections))
            task_status.started()
            await stopping.wait()
            accepting.cancel_scope.cancel()
        connections.cancel_scope.deadline = trio.current_time() + grace
        for waiting in chain.from_iterable(map(_emptied, queues)):
            connections.start_soon(accept, trio.SocketStream(waiting))
        if connections.child_tasks:
            await trio.sleep(LINGER_SECONDS)
        await context.terminated.set()
        for connection in connected:
            connection.leave()


def _wrapped(listener: socket.socket) -> trio.SocketListener:
    return trio.SocketListener(trio.socket.from_stdlib_socket(listener))


def _emptied(queue: socket.socket) -> Iterator[trio.socket.SocketType]:
    """The connections that wait in a listening socket, which is closed after the last of them."""
    with queue:
        while True:
            try:
                waiting, _ = queue.accept()
            except OSError:
                return
            yield trio.socket.from_stdlib_socket(waiting)


def _ending_in_peace(app: ASGIFramework, stopping: trio.Event) -> ASGIFramework:
    """The application with the end of each answer put right, for hypercorn and for the client.

    While hypercorn handles the last piece it tells the application that the client is gone, and Quart then cancels all
    tasks of the request: the sending one too, before hypercorn has started the timer of the idle connection. Such a
    connection would stay open for ever, so that piece is shielded.

    A server that stops closes each connection after its answer. Without being told, a client would lose the request
    that it sends next.
    """

    async def serve_one(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        async def send_in_peace(event: ASGISendEvent) -> None:
            if event["type"] == "http.response.start" and stopping.is_set() and _is_http_1(scope):
                event["headers"] = [*event.get("headers", ()), (b"connection", b"close")]
            if event["type"] != "http.response.body" or event.get("more_body", False):
                await send(event)  # a stream's events come this way, and each scope costs
                return
            with trio.CancelScope(shield=True):
                await send(event)

        await app(scope, receive, send_in_peace)

    return serve_one


def _is_http_1(scope: Scope) -> bool:
    """Later versions say by other means that a connection ends, and hypercorn does."""
    return scope["type"] == "http" and scope["http_version"].startswith("1")

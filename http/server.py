"""hypercorn around the application: where it listens, what it puts up with, and how it stops."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Sequence
from functools import partial

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
    accept = partial(Connection, wrap_app(_ending_in_peace(app), 0, "asgi"), config, context)
    listening = [trio.SocketListener(trio.socket.from_stdlib_socket(listener)) for listener in listeners]
    async with trio.open_nursery() as connections:
        async with trio.open_nursery() as accepting:
            await accepting.start(partial(trio.serve_listeners, accept, listening, handler_nursery=connections))
            task_status.started()
            await stopping.wait()
            accepting.cancel_scope.cancel()
        await context.terminated.set()
        connections.cancel_scope.deadline = trio.current_time() + grace


def _ending_in_peace(app: ASGIFramework) -> ASGIFramework:
    """The application with the last piece of each answer sent to the end, whatever happens to the task that sends it.

    While hypercorn handles that piece it tells the application that the client is gone, and Quart then cancels all
    tasks of the request: this one too, before hypercorn has started the timer of the idle connection. Such a connection
    would stay open for ever, and a stopping server would wait for it through its whole grace.
    """

    async def serve_one(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        async def send_in_peace(event: ASGISendEvent) -> None:
            last = event["type"] == "http.response.body" and not event.get("more_body", False)
            with trio.CancelScope(shield=last):
                await send(event)

        await app(scope, receive, send_in_peace)

    return serve_one

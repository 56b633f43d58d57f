"""The HTTP server as a child of the tree: it binds its addresses, serves requests, and closes streams at the stop."""

from __future__ import annotations

import errno
import socket
from functools import partial

import trio

from ..http.access.context import HttpContext
from ..http.app import make_app
from ..http.fast_path import FastPath
from ..http.server.addresses import AddressRules
from ..http.server.fast_requests import FastRequests
from ..http.server.listener import serve as serve_http
from .actor_system import ActorSystem
from .configuration import Settings
from .database import SupervisedDatabase
from .failures import CannotListen
from .listeners import Listeners

# Beyond the grace: seconds in which a server that was taken over from frees its port.
PORT_FREE = 10.0


class HttpServer:
    """Serves requests on the addresses of the settings."""

    def __init__(
        self, settings: Settings, http_context: HttpContext, actors: ActorSystem, database: SupervisedDatabase,
        listeners: Listeners,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._listeners = listeners
        self._http_context = http_context
        self._actors = actors
        self._database = database

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Serve requests. At the stop streams end first: hypercorn then waits only for running requests."""
        context, grace = self._http_context, self._settings.shutdown_grace * 0.8
        context.readiness.phase = "starting"
        listeners = await self._bind()
        context.streams.open_all()
        serve = partial(
            serve_http, record=context.record, fast=self._fast(), rules=self._rules(),
            release=self._listeners.release,
        )  # fmt: skip
        async with trio.open_nursery() as beside:
            beside.start_soon(context.readiness.run)
            beside.start_soon(context.pump.run)
            async with trio.open_nursery() as nursery:
                await nursery.start(serve, make_app(context), listeners, stopping, grace)
                context.readiness.phase = "serving"
                task_status.started()
                await stopping.wait()
                context.readiness.phase = "stopping"
                context.streams.close_all()
                self._actors.cut_streams()
            beside.cancel_scope.cancel()

    def _fast(self) -> FastRequests | None:
        return FastRequests(FastPath(self._http_context).answer) if self._settings.fast_path == "on" else None

    def _rules(self) -> AddressRules:
        settings = self._settings
        return AddressRules(settings.connections_per_address, settings.trusted_proxies, settings.proxy_protocol)

    async def _bind(self) -> list[socket.socket]:
        """Return the listening sockets.

        A server that was taken over from may still finish its requests on the same port.
        """
        give_up_at = trio.current_time()
        if self._database.predecessor:
            give_up_at += self._settings.shutdown_grace + PORT_FREE
        while True:
            try:
                return self._listeners.open()
            except OSError as error:
                if error.errno != errno.EADDRINUSE or trio.current_time() >= give_up_at:
                    raise CannotListen(
                        f"can't listen on {self._settings.listening} ({error.strerror or error}): end the other"
                        " program, or choose another --host, --port or --socket"
                    ) from error
            await trio.sleep(0.1)

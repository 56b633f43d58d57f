"""The HTTP server as a child of the tree: it binds its addresses, serves requests, and closes streams at the stop."""

from __future__ import annotations

import errno
import socket
from functools import partial

import trio

from ...actors.configuration import Settings
from ...http.access.context import HttpContext
from ...http.app import FastPath, WebFramework, make_app
from ...http.server.addresses import AddressRules
from ...http.server.listener import Encryption
from ...http.server.listener import serve as serve_http
from ...http.server.plain import FastRequests
from ..system.certificate import ServerCertificate
from ..system.listeners import Listeners, cannot_listen
from .actor_system import ActorSystem
from .database import SupervisedDatabase

# Seconds in which the server that takes over has to begin. After them, this server serves again.
TAKEN_OVER_WITHIN = 60.0
# Seconds after which the server that takes over is answered that requests still run.
ANSWER_AFTER = 3.0
# Beyond the grace: seconds in which a server that was taken over from frees its port.
PORT_FREE = 10.0


class HttpServer:
    """Serves requests on the addresses of the settings."""

    def __init__(
        self, settings: Settings, http_context: HttpContext, actors: ActorSystem, database: SupervisedDatabase,
        listeners: Listeners, certificate: ServerCertificate | None,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._listeners = listeners
        self._http_context = http_context
        self._actors = actors
        self._database = database
        self._encryption = (
            Encryption(certificate.context, settings.base_url, settings.tls_redirect_port) if certificate else None
        )
        self._ending = trio.Event()  # set to end the serving
        self._drained = trio.Event()
        self._resumed = trio.Event()  # set to serve again, or to stop

    async def drain(self) -> bool:
        """Take no more connections, answer the requests that are running, and close. False while some go on.

        The server that takes over asks for it, before it shuts this server out of the database. If it does not begin,
        this server serves again: at once if it says so (`resume`), else after a while.
        """
        self._ending.set()
        with trio.move_on_after(ANSWER_AFTER):
            await self._drained.wait()
        return self._drained.is_set()

    def resume(self) -> None:
        """Serve again after `drain`: the server that was to take over does not start.

        Without a `drain` before it, as when this server serves again already, it must not undo the next one.
        """
        if self._ending.is_set():
            self._resumed.set()

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Serve requests until `stopping`, and again if a server that was to take over does not."""
        while True:
            self._ending, self._drained, self._resumed = trio.Event(), trio.Event(), trio.Event()
            await self._serve(stopping, self._ending, task_status)
            self._drained.set()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_pass_on, stopping, self._resumed)
                with trio.move_on_after(TAKEN_OVER_WITHIN):
                    await self._resumed.wait()
                nursery.cancel_scope.cancel()
            if stopping.is_set():
                return
            task_status = trio.TASK_STATUS_IGNORED

    async def _serve(self, stopping: trio.Event, ending: trio.Event, task_status: trio.TaskStatus[None]) -> None:
        """Serve until `ending`. Streams end first: hypercorn then waits only for running requests."""
        context, grace = self._http_context, self._settings.shutdown_grace * 0.8
        context.readiness.phase = "starting"
        listeners = await self._bind()
        context.streams.open_all()
        serve = partial(
            serve_http, record=context.record, fast=self.fast_requests(), rules=self.rules,
            release=self._listeners.release, encryption=self._encryption,
        )  # fmt: skip
        async with trio.open_nursery() as beside:
            beside.start_soon(_pass_on, stopping, ending)
            beside.start_soon(context.readiness.run)
            beside.start_soon(context.pump.run)
            async with trio.open_nursery() as nursery:
                await nursery.start(serve, make_app(context, WebFramework(context)), listeners, ending, grace)
                context.readiness.phase = "serving"
                task_status.started()
                await ending.wait()
                context.readiness.phase = "stopping"
                context.streams.close_all()
                self._actors.cut_streams()
            beside.cancel_scope.cancel()

    def fast_requests(self) -> FastRequests | None:
        return FastRequests(FastPath(self._http_context).answer) if self._settings.fast_path == "on" else None

    def rules(self) -> AddressRules:
        """Return the rules that hold now: staff can change the number while the server runs."""
        settings, most = self._settings, self._http_context.settings.connections_per_address
        return AddressRules(most, settings.trusted_proxies, settings.proxy_protocol)

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
                    raise cannot_listen(self._settings, error) from error
            await trio.sleep(0.1)


async def _pass_on(first: trio.Event, second: trio.Event) -> None:
    """Set the second event when the first is set."""
    await first.wait()
    second.set()

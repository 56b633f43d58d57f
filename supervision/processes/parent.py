"""The parent of several server processes. It serves nothing: it starts them, keeps them running, and stops them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import trio

from ...actors.configuration import Settings
from ...http.server.limits import LINGER
from ...storage.engine.cluster import LOCK_FILE, try_lock
from ...storage.engine.data_folder import make_private, refuse_unfinished
from ...storage.engine.embedded import embedded
from ...storage.engine.term import AnotherNode
from ..frame import greeting, run_logged
from ..log.log import SupervisionLog
from ..log.writer import announce
from ..settings.sources import PARENT, variable
from ..system.listeners import Listeners, cannot_listen, check_free
from ..system.service_manager import READY, STOPPING, ServiceManager
from ..system.signals import ECHO_SECONDS, EndSignals, Interrupted
from .broker import Broker, broker
from .numbers import metrics_of, names_of, number_of_processes, require_sharing
from .program import KeptProgram, NotStarted, Program
from .reports import Reports, reports

__all__ = ["number_of_processes", "serve"]

# What a process runs: the command line of this installation, without the modules of the working directory.
TROUPE = (sys.executable, "-P", "-c", "from troupe.supervision.commands import main; main()")

# Seconds for a process beyond `shutdown_grace`, in which it closes everything. Then it is killed.
CLOSING = 30.0
# Seconds for nats-server to end.
BROKER_ENDS = 5.0


def serve(settings: Settings, count: int, options: Sequence[str]) -> int:
    """Run the processes to their end and return the exit code. This is the whole of `troupe serve --processes N`.

    `options` are the options of the command line that each process gets too.
    """
    return run_logged(settings, partial(_run, count=count, options=options))


def _run(settings: Settings, log: SupervisionLog, signals: EndSignals, *, count: int, options: Sequence[str]) -> int:
    names = names_of(settings.node, count)
    require_sharing(settings, count)
    manager = ServiceManager(os.environ)
    with ExitStack() as stack:
        try:
            with signals.interrupting():
                refuse_unfinished(settings.data)
                make_private(settings.data)
                stack.enter_context(_alone(settings))
                check_free(settings, os.environ)
                listeners = stack.enter_context(_listeners(settings))
                bus = None
                if settings.bus_url is None:
                    bus = stack.enter_context(broker(count, os.environ, log.record))
                environment = _environment(settings, bus)
                if settings.database_url is None:
                    stack.enter_context(embedded(settings.data))  # so that it outlives the processes, which use it too
                parent = Parent(
                    settings, log, manager, listeners, bus, stack.enter_context(reports()), names, options, environment
                )
        except Interrupted:
            log.record("shutdown.begun", decision=signals.first)
            return 0
        try:
            trio.run(parent.run, signals)
        except NotStarted as error:
            return error.exit_code  # the process has said why
    return 0


@contextmanager
def _alone(settings: Settings) -> Generator[None]:
    """Hold the lock of this node's name on the data folder. Raises AnotherNode."""
    path = settings.data / f"running-{settings.node}.lock"
    descriptor = os.open(path, LOCK_FILE, 0o600)
    try:
        if not try_lock(descriptor):
            raise AnotherNode(
                f"another server with several processes runs on {settings.data} as node {settings.node}: stop it first"
            )
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _listeners(settings: Settings) -> Generator[Listeners]:
    """Bind the addresses, or take the sockets of systemd. Raises CannotListen."""
    listeners = Listeners(settings)
    listeners.inherit(os.environ)
    try:
        for copy in listeners.open():
            copy.close()
    except OSError as error:
        raise cannot_listen(settings, error) from error
    try:
        yield listeners
    finally:
        listeners.release()


def _environment(settings: Settings, bus: Broker | None) -> dict[str, str]:
    """Return the environment of all processes."""
    own = {variable("log_to"): "stdout", variable("log_format"): "json", PARENT: "yes"}
    if bus is not None:
        own[variable("bus_url")] = bus.url
    return {**os.environ, **own}


class Parent:
    """The parent, made and not yet running."""

    def __init__(
        self, settings: Settings, log: SupervisionLog, manager: ServiceManager, listeners: Listeners,
        bus: Broker | None, reported: Reports, names: Sequence[str], options: Sequence[str],
        environment: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._settings = settings
        self._log = log
        self._manager = manager
        self._listeners = listeners
        self._bus = bus
        self._reports = reported
        self._ending = trio.Event()  # set by a signal, or when the parent gives up
        self._hurried = trio.Event()
        self._failure: Exception | None = None
        self._broker = self._kept(bus.program) if bus else None
        self._nodes = [self._kept(self._node(*numbered, options, environment)) for numbered in enumerate(names, 1)]

    def _kept(self, program: Program) -> KeptProgram:
        return KeptProgram(program, self._log.record, self._give_up)

    def _node(self, number: int, name: str, options: Sequence[str], environment: Mapping[str, str]) -> Program:
        own = {"NOTIFY_SOCKET": self._reports.address}
        if self._manager.patience:
            own["WATCHDOG_USEC"] = str(int(self._manager.patience * 1e6))
        if (metrics := metrics_of(self._settings, number, name)) is not None:
            own[variable("metrics")] = metrics
        return Program(
            name,
            (*TROUPE, "serve", *options, "--node", name, "--processes", "1"),
            {**environment, **own},
            partial(self._log.pass_on, node=name),
            [listener.fileno() for listener in self._listeners.held],
        )

    async def run(self, signals: EndSignals) -> None:
        """Run until a signal asks for the end, or a process can't be kept running. Raises GaveUp and NotStarted."""
        async with trio.open_nursery() as beside:
            beside.start_soon(self._manager.watch)
            beside.start_soon(self._reports.run, self._take_report)
            beside.start_soon(self._watch)
            await beside.start(self._obey, signals)
            await beside.start(self._log.run, trio.Event())
            async with trio.open_nursery() as programs:
                await self._start(programs)
                await self._ending.wait()
                self._manager.notify(STOPPING)
                await self._stop()
            beside.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _start(self, programs: trio.Nursery) -> None:
        """Start the broker, the first process, and then the others.

        The first one alone migrates the schema. If it refuses to start, it says so once.
        """
        first, *others = self._nodes
        if self._bus and self._broker:
            programs.start_soon(self._broker.keep)
            await self._unless_ending(self._bus.until_listening)
            self._broker.ready.set()
        for nodes in ([first], others):
            for node in nodes:
                if not self._ending.is_set():
                    programs.start_soon(node.keep)
            for node in nodes:
                await self._unless_ending(node.ready.wait)
        if not self._ending.is_set():
            self._manager.notify(READY)
            announce(greeting(self._settings, has_accounts=True))

    async def _unless_ending(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Wait for something, or until the end begins."""
        async with trio.open_nursery() as nursery:

            async def end() -> None:
                await self._ending.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(end)
            await wait()
            nursery.cancel_scope.cancel()

    async def _stop(self) -> None:
        """End the processes, and then the broker."""
        if self._listeners.keep_out():
            # The processes take the clients that wait.
            with trio.move_on_after(LINGER):
                await self._hurried.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hurry)
            async with trio.open_nursery() as ending:
                for node in self._nodes:
                    ending.start_soon(self._end, node, self._settings.shutdown_grace + CLOSING)
            nursery.cancel_scope.cancel()
        if self._broker:
            await self._end(self._broker, BROKER_ENDS)

    async def _end(self, kept: KeptProgram, seconds: float) -> None:
        """End a program, and kill it if it takes longer than this."""
        kept.end(signal.SIGTERM)
        if not kept.has_begun:
            return
        with trio.move_on_after(seconds):
            await kept.ended.wait()
            return
        self._log.record("process.ended", child=kept.name, error="it does not stop", decision="kill it")
        kept.end(signal.SIGKILL)
        await kept.ended.wait()

    async def _hurry(self) -> None:
        """Pass a second signal on."""
        await self._hurried.wait()
        await trio.sleep(ECHO_SECONDS * 1.5)  # so that it is not taken for an echo of the first signal
        for node in self._nodes:
            node.send(signal.SIGTERM)

    async def _obey(self, signals: EndSignals, *, task_status: trio.TaskStatus[None]) -> None:
        def hang_up() -> None:
            for node in self._nodes:
                node.send(signal.SIGHUP)

        with signals.received(hang_up) as received:
            task_status.started()
            async for name in received:
                if not self._ending.is_set():
                    self._log.record("shutdown.begun", decision=name)
                    self._ending.set()
                else:
                    self._log.record("shutdown.hurried", decision=name)
                    self._hurried.set()

    def _give_up(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._ending.set()

    def _take_report(self, process: int, is_ready: bool) -> None:
        for node in self._nodes:
            if node.pid == process:
                node.heard = trio.current_time()
                if is_ready:
                    node.ready.set()

    async def _watch(self) -> None:
        """Kill processes whose event loop works no more, if systemd watches this server."""
        patience = self._manager.patience
        while patience:
            await trio.sleep(patience / 4)
            for node in self._nodes:
                if node.heard is not None and trio.current_time() - node.heard > patience:
                    node.heard = None
                    node.send(signal.SIGKILL)

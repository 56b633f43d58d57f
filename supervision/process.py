"""The process of `troupe serve`: its database, its log and its signals around the supervision tree."""

from __future__ import annotations

import gc
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import trio

from ..actors.configuration import Settings
from ..http.server.limits import raise_limit
from ..storage.engine.data_folder import make_private, refuse_unfinished
from ..storage.engine.database import Unavailable
from ..storage.engine.embedded import embedded
from ..storage.instance import newest_local_uri
from .frame import greeting, run_logged
from .log.log import SupervisionLog
from .log.writer import announce
from .settings.domain import remember
from .settings.sources import PARENT
from .system.listeners import check_free
from .system.runs import begin_run, end_run
from .system.service_manager import READY, STOPPING, ServiceManager
from .system.signals import EndSignals, Interrupted
from .traces.wanted import traces_from

if TYPE_CHECKING:
    from .tree import Troupe

# When the collector looks at young objects. Most objects live as long as a cache entry does: by default, half of the
# time of collecting goes to looking at them while they are young (measured).
COLLECT_AFTER = (50_000, 20, 50)


def serve(settings: Settings) -> int:
    """Run the server to its end and return the exit code. This is the whole of `troupe serve` with one process."""
    return run_logged(settings, _run)


def _run(settings: Settings, log: SupervisionLog, signals: EndSignals) -> int:
    _serve(settings, log, signals)
    end_run(settings.data, settings.node)
    return 0


def _serve(settings: Settings, log: SupervisionLog, signals: EndSignals) -> None:
    with ExitStack() as stack:
        try:
            with signals.interrupting():
                raise_limit()
                refuse_unfinished(settings.data)
                make_private(settings.data)
                check_free(settings, os.environ)
                troupe = _make(settings, log, stack)
                stack.callback(_give_back, troupe)
                troupe.listeners.inherit(os.environ)
                manager = ServiceManager(os.environ)
        except Interrupted:
            log.record("shutdown.begun", decision=signals.first)
            return
        trio.run(_supervise, troupe, signals, manager)


def _give_back(troupe: Troupe) -> None:
    """Have the other server serve again, unless this server has taken the database over."""
    if not troupe.database.has_begun:
        troupe.listeners.give_back()


def _make(settings: Settings, log: SupervisionLog, stack: ExitStack) -> Troupe:
    """Make the server on its database. The embedded PostgreSQL runs as long as the stack is open."""
    traces = traces_from(os.environ, log.record)
    if settings.database_url:
        return _imported()(settings, settings.database_url.get_secret_value(), log, traces=traces)
    postgres = stack.enter_context(embedded(settings.data, meanwhile=_imported))
    return _imported()(settings, postgres.dsn, log, postgres.start, traces)


def _imported() -> type[Troupe]:
    """Import what the server is made of, which takes longer than PostgreSQL takes to start."""
    # Late: the server takes 0.7 s, and is imported while PostgreSQL starts.
    from ..http.router import all_endpoints
    from .tree import Troupe

    all_endpoints()
    return Troupe


async def _supervise(troupe: Troupe, signals: EndSignals, manager: ServiceManager) -> None:
    """Run until a signal asks for the end, also while the children start, or until supervision gives up."""
    stopping, starting = trio.Event(), trio.CancelScope()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(manager.watch)
        await nursery.start(_obey, troupe, signals, manager, stopping, starting)
        async with trio.open_nursery() as running:
            await running.start(troupe.log.run, stopping)
            with starting:
                await running.start(troupe.supervisor.run, stopping)
                await _started(troupe)
                _freeze_objects()
                troupe.stalls.begin()
                manager.notify(READY)
        nursery.cancel_scope.cancel()


async def _obey(
    troupe: Troupe,
    signals: EndSignals,
    manager: ServiceManager,
    stopping: trio.Event,
    starting: trio.CancelScope,
    *,
    task_status: trio.TaskStatus[None],
) -> None:
    def hang_up() -> None:
        if troupe.certificate is None:
            troupe.log.record("hangup.ignored", decision="go on: settings of files and options need a restart")
        else:
            troupe.certificate.read_again()

    with signals.received(hang_up) as received:
        task_status.started()
        async for name in received:
            if not stopping.is_set():
                troupe.log.record("shutdown.begun", decision=name)
                manager.notify(STOPPING)
                stopping.set()
                # The children that have started are stopped in order by the supervisor.
                starting.cancel()
            else:
                troupe.log.record("shutdown.hurried", decision=name)
                troupe.supervisor.end_grace()


async def _started(troupe: Troupe) -> None:
    settings, log = troupe.settings, troupe.log
    remember(settings)
    before = begin_run(settings.data, settings.node)
    if before and before != troupe.database.predecessor:
        log.record("shutdown.missed", node=before)
    if troupe.http_context.sign_ups.closed_without_mail:
        log.record("registrations.closed", decision="sign-ups are closed")
    if settings.test_hosts:
        log.record("test_hosts.allowed", decision=f"private addresses allowed: {', '.join(settings.test_hosts)}")
    log.record("server.listening", address=settings.base_url)
    if os.environ.pop(PARENT, ""):
        return  # the parent greets
    try:
        has_accounts = await troupe.database.read(newest_local_uri) is not None
    except Unavailable:  # the server waits for the database all the same
        has_accounts = True
    announce(greeting(settings, has_accounts=has_accounts))


def _freeze_objects() -> None:
    """Freeze the objects made at start, so that the collector never scans them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)

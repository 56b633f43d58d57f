"""The process of `troupe serve`: its database, its log and its signals around the supervision tree."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import traceback
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from ..actors.configuration import ServerSettings, Settings
from ..http.server.limits import raise_limit
from ..storage.engine.data_folder import make_private, refuse_unfinished
from ..storage.engine.database import Fenced, Unavailable
from ..storage.engine.embedded import embedded
from ..storage.instance import newest_local_uri
from .failures import FAILED, explained
from .log.log import SupervisionLog, route_libraries
from .log.output import open_log
from .log.writer import announce
from .settings.domain import remember
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
    """Run the server to its end and return the exit code. This is the whole of `troupe serve`."""
    opened = open_log(settings)
    log = opened.log
    route_libraries(log)
    signals = EndSignals()
    with signals.handled():
        try:
            _run(settings, log, signals)
            end_run(settings.data, settings.node)
            log.flush()  # no record is written after the last one
            log.record("shutdown.done")
            return 0
        except (Exception, BaseExceptionGroup) as error:
            return _explain(error, log)
        finally:
            opened.close()


def _run(settings: Settings, log: SupervisionLog, signals: EndSignals) -> None:
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


def _explain(error: BaseException, log: SupervisionLog) -> int:
    """Print why the server ends, on a line, and return the exit code. The decisions of supervision are in the log."""
    failure = explained(error)
    if failure is None:
        announce("".join(traceback.format_exception(error)))
        return FAILED
    if isinstance(failure.error, Fenced):
        log.record("node.fenced", error=str(failure.error), decision="exit")
    announce(f"troupe: {failure.message}")
    return failure.exit_code


def greeting(settings: ServerSettings, *, has_accounts: bool) -> str:
    """Return where the server listens and, as long as there is no account, the command that makes the first account."""
    where = f"Troupe is at {settings.base_url} (listening on {settings.listening}; data in {settings.data}).\n"
    if has_accounts:
        return where
    folder = "" if settings.data == Path("data").absolute() else f" --data {settings.data}"
    config = f" --config {chosen}" if (chosen := _config()) else ""
    return (
        f"{where}The first account, from another terminal:\n"
        f"  {_called()} accounts create NAME --email E --password P --role owner --confirmed --approved"
        f"{config}{folder}\n"
    )


def _called() -> str:
    """Return the command that calls this program again: its name if the shell finds it, else its path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    return called.name if found and called.exists() and called.samefile(found) else str(called)


def _config() -> str:
    """Return the file that was chosen on the command line: it may name the database. Nothing if none was."""
    words = iter(sys.argv)
    for word in words:
        if word.startswith("--config"):
            return word.partition("=")[2] or next(words, "")
    return ""

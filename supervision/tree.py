"""The whole running system on one screen: what there is, what it is made of, and in which order it lives.

troupe (rest_for_one, 3 crashes in 30 s)
├── storage         this node's term and the connections to PostgreSQL
├── accounts        one actor an account: its writes, in order
├── homes           one actor a home timeline
├── lists           one actor a list's timeline
├── publics         the public timelines
├── tags            one actor a hashtag's timeline
├── housekeeping    slow turns, quarantines, sleep
├── parking         messages that crashed twice, into dead_letters
├── outbox          effects promised by transactions
├── mail            letters that transactions have promised
├── media           uploads that wait to be processed, and those that nobody wants
├── control         the command line's socket
└── http            the listener: REST, streaming, OAuth, pages
"""

from __future__ import annotations

import gc
import random
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import click
import trio

from ..actors import commands
from ..actors.account import Account
from ..actors.backstage import Backstage
from ..actors.broadcast import Broadcast
from ..actors.kernel import IDLE, Ids, Runtime, SystemClock
from ..actors.mail.letters import Sender
from ..actors.mail.post import Letterhead, Post
from ..actors.mail.smtp import Smtp
from ..actors.media.workshop import Workshop
from ..actors.outbox import Outbox
from ..actors.statuses import Accounts, Statuses
from ..actors.timelines.audience import Audience
from ..actors.timelines.home import Home
from ..actors.timelines.list import List
from ..actors.timelines.public import Public
from ..actors.timelines.tag import Tag
from ..http.app import make_app
from ..http.house import House
from ..http.server import bind
from ..http.server import serve as serve_http
from ..storage.embedded import EmbeddedFailed, embedded
from ..storage.engine import Database, Fenced, StorageError
from ..storage.migrate import MigrationRefused, upgrade
from ..storage.term import AnotherNode
from .configuration import Settings
from .control import Control
from .database import SupervisedDatabase
from .domain import remember
from .keys import vapid_public_key
from .log import SupervisionLog, as_json, as_text, in_colour, route_libraries
from .parking import Parking
from .supervisor import Child, GaveUp, Supervisor
from .vocabulary import Level

__all__ = ["Actors", "Troupe", "commands", "declared", "serve"]

EXIT_FAILED = 1  # could not start
EXIT_NO_DATABASE = 69  # (EX_UNAVAILABLE)
EXIT_GAVE_UP = 70  # supervision gave up, or another node took over (EX_SOFTWARE)

EXPLAINED = (AnotherNode, GaveUp, StorageError, OSError)

# Whoever asks for a hashtag's timeline wakes it, be there such a tag or not.
MOST_TAGS = 10_000

# Most objects live as long as a cache entry does: collecting young ones less often halves what it costs (measured).
COLLECT_AFTER = (50_000, 20, 50)


class Actors:
    """Every kind of actor and what they share, over some database: the same in production and in simulation."""

    def __init__(
        self,
        database: Database,
        runtime: Runtime,
        clock: Any,
        ids: Ids,
        record: Any,
        *,
        base_url: str,
        local_domain: str,
        idle: float = IDLE,
    ) -> None:
        self.runtime = runtime
        self.accounts = Accounts(database)
        self.statuses = Statuses(database, self.accounts)
        audience, listed, owned = Audience(), Audience(), Audience()
        broadcast = Broadcast(runtime, audience, listed, owned)
        self.outbox = Outbox(database, clock, ids, self.accounts, self.statuses, broadcast, record)
        self.backstage = Backstage(
            database, clock, ids, self.accounts, self.statuses, audience, listed, owned, broadcast, self.outbox,
            base_url, local_domain,
        )  # fmt: skip
        self.pools = {
            "accounts": runtime.add("account", Account, lambda cell: Account(cell, runtime, self.backstage), idle=idle),
            "homes": runtime.add("home", Home, lambda cell: Home(cell, runtime, self.backstage), idle=idle),
            "lists": runtime.add("list", List, lambda cell: List(cell, runtime, self.backstage), idle=idle),
            "publics": runtime.add("public", Public, lambda cell: Public(cell, runtime, self.backstage), idle=idle),
            "tags": runtime.add(
                "tag", Tag, lambda cell: Tag(cell, runtime, self.backstage), most_awake=MOST_TAGS, idle=idle
            ),
        }

    def children(self) -> list[Child]:
        """The part of the tree that simulation runs too."""
        pools = [Child(name, pool.run, inspect=pool.census) for name, pool in self.pools.items()]
        outbox = Child("outbox", self.outbox.run, inspect=self.outbox.inspect)
        return [*pools, Child("housekeeping", self.runtime.run), outbox]


class Troupe:
    """One server process, put together and not yet running."""

    def __init__(
        self, settings: Settings, dsn: str, log: SupervisionLog, revive: Callable[[], None] | None = None
    ) -> None:
        self.settings = settings
        self.log = log
        clock = SystemClock()
        ids = Ids(clock)
        self.runtime = Runtime(record=self._record, chance=random.random)
        self.database = SupervisedDatabase(
            dsn, size=settings.database_connections, takeover=settings.takeover, ids=ids, record=log.record,
            on_notice=self._hear, revive=revive,
        )  # fmt: skip
        self.actors = Actors(
            self.database, self.runtime, clock, ids, log.record,
            base_url=settings.base_url, local_domain=settings.local_domain,
        )  # fmt: skip
        self.parking = Parking(self.database, clock, ids)
        self.runtime.on_park = self.parking.park
        self.media = Workshop(
            self.database, self.runtime, clock, log.record, self.actors.outbox, settings.data / "media",
            key=lambda: secrets.token_hex(16),
        )  # fmt: skip
        self.mail = Post(
            self.database, clock, log.record, self.actors.outbox,
            Letterhead(Sender(settings.mail_sender, settings.title), settings.base_url), _carrier(settings),
            secret=lambda: secrets.token_urlsafe(32),
        )  # fmt: skip
        self.house = House(
            settings=settings, database=self.database, runtime=self.runtime, clock=clock, ids=ids, record=log.record,
            secret=lambda: secrets.token_urlsafe(32), vapid_public_key=vapid_public_key(settings.data),
            accounts=self.actors.accounts, statuses=self.actors.statuses,
            media=self.media,
        )  # fmt: skip
        self.supervisor = Supervisor("troupe", self._children(), log.record, fatal=(Fenced, AnotherNode))

    def _children(self) -> list[Child]:
        grace = self.settings.shutdown_grace
        control = Control(self.settings.data / "control.sock", {"tree": self.supervisor_portrait})
        *pools, housekeeping, outbox = self.actors.children()
        return [
            Child("storage", self.database.run, inspect=self.database.inspect),
            *pools,
            housekeeping,
            Child("parking", self.parking.run),
            outbox,
            Child("mail", self.mail.run, inspect=self.mail.inspect),
            Child("media", self.media.run),
            Child("control", control.run),
            Child("http", self._http, grace=grace),
        ]

    def supervisor_portrait(self) -> dict[str, object]:
        return self.supervisor.portrait()

    async def _http(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Serve requests. When stopping, streams end first: hypercorn then waits only for requests that run."""
        listeners = bind(self.settings.listens)
        self.house.streams.open_all()
        async with trio.open_nursery() as nursery:
            await nursery.start(
                serve_http, make_app(self.house), listeners, stopping, self.settings.shutdown_grace * 0.8
            )
            task_status.started()
            await stopping.wait()
            self.house.streams.close_all()
            for pool in self.actors.pools.values():
                pool.cut_streams()

    def _record(self, event: str, /, **facts: object) -> None:
        """The runtime's way into the log; what a crash left undone is looked for at once."""
        self.log.record(event, **facts)
        if event in ("actor.crashed", "actor.quarantined"):
            self.actors.outbox.wake()

    def _hear(self, notice: str | None) -> None:
        """Another program changed the database; None when some notices may have been missed."""
        if notice in (None, "accounts"):
            self.actors.accounts.clear()
            self.house.tokens.clear()

    async def run(self, on_start: Callable[[], None]) -> None:
        """Until SIGTERM or SIGINT, or until supervision gives up."""
        stopping = trio.Event()
        async with trio.open_nursery() as nursery:
            await nursery.start(_wait_for_signal, stopping, self.log)
            await nursery.start(self.log.run, stopping)
            await nursery.start(self.supervisor.run, stopping)
            on_start()
            _settle_memory()
            await stopping.wait()
        self.log.record("shutdown.done")


def serve(settings: Settings) -> int:
    """Run the server to its end; the exit code. This is the whole of `troupe serve`."""
    log = _open_log(settings)
    route_libraries(log)
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
        if settings.database_url:
            return _run(settings, settings.database_url.get_secret_value(), log)
        with embedded(settings.data) as server:
            return _run(settings, server.dsn, log, server.start)
    except (MigrationRefused, EmbeddedFailed, StorageError, OSError) as error:
        click.echo(f"troupe: {error}", err=True)
        return EXIT_NO_DATABASE if isinstance(error, EmbeddedFailed | StorageError) else EXIT_FAILED
    finally:
        log.flush()


def declared() -> dict[str, object]:
    """The tree as it would be started."""
    log = SupervisionLog(lambda line: None, SystemClock(), as_json)
    with TemporaryDirectory() as folder:
        return Troupe(Settings(data=Path(folder)), "", log).supervisor.portrait()


def _carrier(settings: Settings) -> Smtp | None:
    """The way out for mails, if there is one."""
    if settings.smtp_host is None:
        return None
    password = settings.smtp_password.get_secret_value() if settings.smtp_password else None
    name = settings.mail_sender.rpartition("@")[2]
    return Smtp(settings.smtp_host, settings.smtp_port, settings.smtp_tls, name, settings.smtp_user, password)


def _run(settings: Settings, dsn: str, log: SupervisionLog, revive: Callable[[], None] | None = None) -> int:
    from .commands.serve import greeting

    for migration in upgrade(dsn):
        log.record("migration.applied", address=f"{migration.number:04} {migration.name}")

    def started() -> None:
        remember(settings)
        if settings.sign_ups != settings.registrations:
            log.record("registrations.closed", decision="nobody can sign up")
        log.record("server.listening", address=settings.base_url)
        click.echo(greeting(settings), err=True)

    try:
        trio.run(Troupe(settings, dsn, log, revive).run, started)
    except BaseExceptionGroup as group:
        if (error := _innermost(group)) is None:
            raise
        return _explain(error, log)
    return 0


def _explain(error: Exception, log: SupervisionLog) -> int:
    """Say why the server ends, in a line; what supervision decided stands in the log."""
    if isinstance(error, Fenced):
        log.record("node.fenced", error=str(error), decision="exit")
    click.echo(f"troupe: {error}", err=True)
    return EXIT_GAVE_UP if isinstance(error, Fenced | GaveUp) else EXIT_FAILED


def _innermost(group: BaseExceptionGroup[BaseException]) -> Exception | None:
    """The one error that ended the server, if it is of a kind that needs no traceback."""
    inner = group.exceptions[0]
    if len(group.exceptions) > 1:
        return None
    if isinstance(inner, BaseExceptionGroup):
        return _innermost(cast("BaseExceptionGroup[BaseException]", inner))
    return inner if isinstance(inner, EXPLAINED) else None


async def _wait_for_signal(stopping: trio.Event, log: SupervisionLog, *, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            log.record("shutdown.begun", decision=signal.Signals(number).name)
            stopping.set()
            return


def _settle_memory() -> None:
    """What was made at start stays: never look through it again, and look less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def _open_log(settings: Settings) -> SupervisionLog:
    terminal = sys.stdout.isatty()
    form = as_json if settings.log_format == "json" or (settings.log_format == "auto" and not terminal) else (
        in_colour if terminal else as_text
    )  # fmt: skip

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    return SupervisionLog(write, SystemClock(), form, Level[settings.log_level.upper()])

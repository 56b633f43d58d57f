"""The whole running system on one screen: what there is, what it is made of, and in which order it lives.

troupe (rest_for_one, 3 crashes in 30 s)
├── storage         this node's term and the connections to PostgreSQL
├── accounts        one actor an account: its writes, in order
├── homes           one actor a home timeline
├── lists           one actor a list: its terms, its members, its timeline
├── publics         the public timelines
├── tags            one actor a hashtag's timeline
├── housekeeping    slow turns, quarantines, sleep
├── watchdog        turns that keep the loop busy, seen by a thread of its own
├── parking         messages that crashed twice, into dead_letters
├── emojis          the custom emoji, held in memory
├── outgoing        the connections to other servers
├── translation     the connections to the translation service, if there is one
├── announcements   what turns have promised to tell, and a crash kept from being told
├── mail            mails that transactions have promised
├── push            messages to the devices of users
├── previews        cards of the pages that statuses link to
├── media           uploads that wait to be processed, and those that nobody wants
├── expiry          rows whose time is over
├── disks           whether there is room to write
├── control         the command line's socket
└── http            the listener: REST, streaming, OAuth, pages
"""

from __future__ import annotations

import errno
import gc
import os
import random
import secrets
import socket
import traceback
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio

from ..actors import commands
from ..actors.account import AccountActor, PerspectiveOf, ViewerFlags
from ..actors.audience import Audience
from ..actors.broadcast import Broadcast, account_address
from ..actors.context import ActorContext
from ..actors.custom_emojis import CustomEmojiLoader
from ..actors.effects.mail import MAIL
from ..actors.effects.previews import PREVIEWS, PreviewContext, ReadPage
from ..actors.effects.push import PUSH
from ..actors.effects.registry import FileRemover, Staffed
from ..actors.expiry import Expiry
from ..actors.facts import Facts
from ..actors.kernel import IDLE, Clock, Ids, Origin, Runtime, SystemClock
from ..actors.kernel.watchdog import Watchdog
from ..actors.mail.sender import Letterhead, MailSender
from ..actors.mail.smtp import Smtp
from ..actors.mail.templates import Sender
from ..actors.media.processor import MediaProcessor
from ..actors.outbox import Outbox
from ..actors.outgoing.client import OutgoingClient
from ..actors.outgoing.targets import named_target
from ..actors.previews.reader import PageReader
from ..actors.push.delivery import Deliver, WebPush
from ..actors.push.encryption import PushEncryption
from ..actors.push.sender import PushContext, PushSender
from ..actors.push_key import PushKey, UnusablePushKey
from ..actors.rules.filters import Filters
from ..actors.rules.visibility import Perspective
from ..actors.statuses import AccountCache, StatusCache
from ..actors.timelines.home import HomeTimeline
from ..actors.timelines.list import ListTimeline
from ..actors.timelines.public import PublicTimeline
from ..actors.timelines.tag import TagTimeline
from ..actors.translation.libretranslate import LibreTranslate
from ..http.access.context import HttpContext
from ..http.app import make_app
from ..http.entities.account import avatar_url
from ..http.server.descriptors import raise_limit
from ..http.server.listener import bind
from ..http.server.listener import serve as serve_http
from ..storage import outbox
from ..storage.engine.data_folder import make_private
from ..storage.engine.database import Connection, Database, Fenced, Unavailable
from ..storage.engine.embedded import embedded
from ..storage.engine.term import AnotherNode
from ..storage.files import Folder
from .configuration import Settings
from .control import Control
from .database import SupervisedDatabase
from .disks import Disks
from .domain import OtherDomain, remember, require_domain
from .failures import FAILED, CannotListen, explained
from .greeting import greeting
from .log import SupervisionLog, as_json, as_text, in_colour, route_libraries
from .parking import Parking
from .runs import begin_run, end_run
from .signals import EndSignals, Interrupted
from .supervisor import Child, Supervisor
from .vocabulary import Level
from .writer import Writer, announce, hold_standard_streams

__all__ = ["Actors", "Troupe", "commands", "declared", "serve"]

STDOUT = 1

# With these errors the server ends at once, and is not restarted.
FATAL = (Fenced, AnotherNode, OtherDomain, UnusablePushKey)

# Beyond the grace: seconds in which a server that was taken over from frees its port.
PORT_FREE = 10.0

# Every request for a hashtag's timeline wakes it, also for a tag that does not exist.
MOST_TAGS = 10_000

# Most objects live as long as a cache entry does: collecting young ones less often halves the cost (measured).
COLLECT_AFTER = (50_000, 20, 50)


class Actors:
    """Every kind of actor and their services, over some database: the same in production and in simulation."""

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
        remove_files: FileRemover | None = None,
        queues: Iterable[Staffed[Any]] = (),
        deliver: Deliver | None = None,
    ) -> None:
        self.runtime = runtime
        self.accounts = AccountCache(database)
        self.statuses = StatusCache(database, self.accounts)
        audience, tagged = Audience[int](), Audience[str]()
        listed, owned = Audience[int](), Audience[int]()
        broadcast = Broadcast(runtime, audience, tagged, listed, owned)
        self.facts = Facts(database, ids, self.accounts, self.statuses, broadcast)
        pushes = PushContext(
            database, clock, self.accounts, self.statuses, record, partial(avatar_url, base_url=base_url),
            self._perspective, self._filters,
        )  # fmt: skip
        staffed = [Staffed(PUSH, PushSender(pushes, deliver))] if deliver else []
        self.outbox = Outbox(
            database, runtime, clock, ids, self.accounts, self.statuses, broadcast, self.facts,
            record,
            remove_files=remove_files, queues=[*queues, *staffed],
        )  # fmt: skip
        self.actor_context = ActorContext(
            database, clock, ids, self.accounts, self.statuses, audience, tagged, listed, owned, broadcast,
            self.facts, self.outbox, base_url, local_domain,
        )  # fmt: skip
        self.pools = {
            "accounts": runtime.add(
                "account", AccountActor, lambda cell: AccountActor(cell, runtime, self.actor_context), idle=idle
            ),
            "homes": runtime.add(
                "home", HomeTimeline, lambda cell: HomeTimeline(cell, runtime, self.actor_context), idle=idle
            ),
            "lists": runtime.add(
                "list", ListTimeline, lambda cell: ListTimeline(cell, runtime, self.actor_context), idle=idle
            ),
            "publics": runtime.add(
                "public", PublicTimeline, lambda cell: PublicTimeline(cell, runtime, self.actor_context), idle=idle
            ),
            "tags": runtime.add(
                "tag",
                TagTimeline,
                lambda cell: TagTimeline(cell, runtime, self.actor_context),
                most_awake=MOST_TAGS,
                idle=idle,
            ),
        }

    def add_previews(self, read: ReadPage) -> None:
        """Have the pages previewed that statuses link to. To be called before the relays are asked for."""
        context = self.actor_context
        self.outbox.add(
            Staffed(
                PREVIEWS,
                PreviewContext(
                    context.database,
                    context.clock,
                    context.ids,
                    self.outbox,
                    context.base_url,
                    context.local_domain,
                    read,
                ),
            )
        )

    async def _perspective(self, account_id: int, origin: Origin) -> Perspective:
        return await self.runtime.ask(account_address(account_id), PerspectiveOf(), origin=origin)

    async def _filters(self, account_id: int, origin: Origin) -> Filters:
        return (await self.runtime.ask(account_address(account_id), ViewerFlags(()), origin=origin)).filters

    def children(self) -> list[Child]:
        """The part of the tree that simulation runs too."""
        pools = [Child(name, pool.run, inspect=pool.census) for name, pool in self.pools.items()]
        return [*pools, Child("housekeeping", self.runtime.run)]

    def relays(self) -> list[Child]:
        """A child for each queue of the outbox. They start after the children."""
        return [
            Child(relay.queue.name, relay.run, grace=relay.queue.grace, inspect=relay.inspect)
            for relay in self.outbox.relays
        ]


class Troupe:
    """One server process, built and not yet running."""

    def __init__(
        self, settings: Settings, dsn: str, log: SupervisionLog, revive: Callable[[], None] | None = None
    ) -> None:
        self.settings = settings
        self.log = log
        clock = SystemClock()
        ids = Ids(clock)
        self._push_key = PushKey(settings.data / "vapid.pem")
        self.database = SupervisedDatabase(
            dsn, size=settings.database_connections, takeover=settings.takeover, ids=ids, clock=clock,
            record=log.record, on_notice=self._hear, revive=revive, require=self._require_domain,
            prepare=self._prepare,
        )  # fmt: skip
        self.parking = Parking(self.database, clock, ids)
        self.runtime = Runtime(
            record=self._record, chance=random.random, on_park=self.parking.park, unavailable=(Unavailable,)
        )
        self.outgoing = OutgoingClient(settings.user_agent, test_hosts=settings.test_hosts)
        self.translator = translator_of(settings)
        folder = Folder(settings.data / "media", settings.node)
        self.actors = Actors(
            self.database, self.runtime, clock, ids, log.record,
            base_url=settings.base_url, local_domain=settings.local_domain,
            remove_files=partial(trio.to_thread.run_sync, folder.remove),
            queues=[Staffed(MAIL, _mail_sender(settings, self.database, clock))],
            deliver=WebPush(self.outgoing, PushEncryption(self._push_key, clock, settings.push_contact)),
        )  # fmt: skip
        self.media = MediaProcessor(
            self.database, self.runtime, clock, log.record, self.actors.outbox, folder,
            key=lambda: secrets.token_hex(16),
        )  # fmt: skip
        if settings.link_previews:
            self.actors.add_previews(PageReader(self.outgoing, self.media, clock))
        self.http_context = HttpContext(
            settings=settings, database=self.database, runtime=self.runtime, clock=clock, ids=ids, record=log.record,
            secret=lambda: secrets.token_urlsafe(32), push_key=self._push_key,
            accounts=self.actors.accounts, statuses=self.actors.statuses, facts=self.actors.facts,
            media=self.media, outgoing=self.outgoing, translator=self.translator,
        )  # fmt: skip
        self.custom_emojis = CustomEmojiLoader(self.database, self.actors.facts)
        self.expiry = Expiry(self.database, clock, log.record, self.actors.facts, self.http_context.tokens)
        self.supervisor = Supervisor("troupe", self._children(), log.record, fatal=FATAL)

    def _children(self) -> list[Child]:
        grace = self.settings.shutdown_grace
        control = Control(self.settings.control_socket, {"tree": self.supervisor_portrait})
        *pools, housekeeping = self.actors.children()
        # If both are on one disk, it is reported once.
        database = {} if self.settings.database_url else {"database": self.settings.data / "postgres"}
        disks = Disks({"data": self.settings.data, "media": self.settings.data / "media"} | database, self.log.record)
        return [
            Child("storage", self.database.run, inspect=self.database.inspect),
            *pools,
            housekeeping,
            Child("watchdog", Watchdog(self.runtime.pools, self.log.record).run),
            Child("parking", self.parking.run),
            Child("emojis", self.custom_emojis.run),
            Child("outgoing", self.outgoing.run, inspect=self.outgoing.inspect),
            *([Child("translation", self.translator.run)] if self.translator else []),
            *self.actors.relays(),
            Child("media", self.media.run, inspect=self.media.inspect),
            Child("expiry", self.expiry.run, inspect=self.expiry.inspect),
            Child("disks", disks.run, inspect=disks.inspect),
            Child("control", control.run),
            Child("http", self._http, grace=grace),
        ]

    def supervisor_portrait(self) -> dict[str, object]:
        return self.supervisor.portrait()

    async def _http(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Serve requests. At the stop streams end first: hypercorn then waits only for running requests."""
        listeners = await self._bind()
        self.http_context.streams.open_all()
        serve = partial(serve_http, record=self.log.record)
        async with trio.open_nursery() as beside:
            beside.start_soon(self.http_context.readiness.run)
            async with trio.open_nursery() as nursery:
                await nursery.start(
                    serve, make_app(self.http_context), listeners, stopping, self.settings.shutdown_grace * 0.8
                )
                task_status.started()
                await stopping.wait()
                self.http_context.streams.close_all()
                for pool in self.actors.pools.values():
                    pool.cut_streams()
            beside.cancel_scope.cancel()

    async def _bind(self) -> list[socket.socket]:
        """Return the listening sockets.

        A server that was taken over from may still finish its requests on the same port.
        """
        give_up_at = trio.current_time()
        if self.database.predecessor:
            give_up_at += self.settings.shutdown_grace + PORT_FREE
        while True:
            try:
                return bind(self.settings.listens)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or trio.current_time() >= give_up_at:
                    raise CannotListen(
                        f"can't listen on {self.settings.host}:{self.settings.port} ({error.strerror}): end the other"
                        " program, or choose another --host or --port"
                    ) from error
            await trio.sleep(0.1)

    async def _prepare(self, database: Database) -> None:
        """Prepare the database for this process, before any other part of it uses the database.

        Claims of effects are given back at once instead of at the end of their lease. The process holds the term, so
        it is the only one that serves the database: all claims are of relays that have died. But a process that was
        taken over from may be at work for a moment, so its claims are left to end.
        """
        await self._push_key.load(database)
        if not self.database.predecessor:
            await database.transact(outbox.release_all)

    async def _require_domain(self, db: Connection) -> None:
        await require_domain(db, self.settings, self.settings.base_url)

    def _record(self, event: str, /, **facts: object) -> None:
        """Write a record for the runtime. After a crash the outbox is woken, because promises may be left."""
        self.log.record(event, **facts)
        if event in ("actor.crashed", "actor.quarantined"):
            self.actors.outbox.wake()

    def _hear(self, notice: str | None) -> None:
        """Apply a notice that another program changed the database. None means that some notices may be lost."""
        if notice in (None, "accounts"):
            self.actors.accounts.clear()
            self.http_context.tokens.clear()
        if notice in (None, "trends"):
            self.http_context.trends.forget()
        if notice in (None, "announcements", "outbox"):
            self.actors.outbox.wake()
        if notice in (None, "custom_emojis"):
            self.custom_emojis.wake()

    async def run(self, signals: EndSignals, on_start: Callable[[], None]) -> None:
        """Run until a signal asks for the end, also while the children start, or until supervision gives up."""
        stopping, starting = trio.Event(), trio.CancelScope()
        async with trio.open_nursery() as nursery:
            await nursery.start(self._obey, signals, stopping, starting)
            async with trio.open_nursery() as running:
                await running.start(self.log.run, stopping)
                with starting:
                    await running.start(self.supervisor.run, stopping)
                    on_start()
                    _settle_memory()
            nursery.cancel_scope.cancel()

    async def _obey(
        self,
        signals: EndSignals,
        stopping: trio.Event,
        starting: trio.CancelScope,
        *,
        task_status: trio.TaskStatus[None],
    ) -> None:
        with signals.received() as received:
            task_status.started()
            async for name in received:
                if not stopping.is_set():
                    self.log.record("shutdown.begun", decision=name)
                    stopping.set()
                    starting.cancel()
                else:
                    self.log.record("shutdown.hurried", decision=name)
                    self.supervisor.hurry()


def serve(settings: Settings) -> int:
    """Run the server to its end and return the exit code. This is the whole of `troupe serve`."""
    log, writer = _open_log(settings)
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
            log.close()
            writer.close()


def declared() -> dict[str, object]:
    """Return the tree as it would be started."""
    log = SupervisionLog(lambda line: None, SystemClock(), as_json)
    with TemporaryDirectory() as folder:
        return Troupe(Settings(data=Path(folder)), "", log).supervisor.portrait()


def _mail_sender(settings: Settings, database: Database, clock: Clock) -> MailSender | None:
    """Return what sends mails. None without a mail server: then mails wait in the outbox."""
    if settings.smtp_host is None:
        return None
    password = settings.smtp_password.get_secret_value() if settings.smtp_password else None
    name = settings.mail_sender.rpartition("@")[2]
    smtp = Smtp(settings.smtp_host, settings.smtp_port, settings.smtp_tls, name, settings.smtp_user, password)
    head = Letterhead(Sender(settings.mail_sender, settings.title), settings.base_url)
    return MailSender(database, clock, head, smtp, secret=lambda: secrets.token_urlsafe(32))


def translator_of(settings: Settings) -> LibreTranslate | None:
    """Return the translation service that the operator has named. Its client connects to nothing else."""
    if settings.translation_url is None:
        return None
    client = OutgoingClient(settings.user_agent, named=named_target(settings.translation_url))
    key = settings.translation_key.get_secret_value() if settings.translation_key else None
    return LibreTranslate(client, settings.translation_url, key)


def _run(settings: Settings, log: SupervisionLog, signals: EndSignals) -> None:
    with ExitStack() as stack:
        try:
            with signals.interrupting():
                raise_limit()
                make_private(settings.data)
                troupe = _make(settings, log, stack)
        except Interrupted:
            log.record("shutdown.begun", decision=signals.first)
            return
        trio.run(troupe.run, signals, lambda: _started(troupe))


def _make(settings: Settings, log: SupervisionLog, stack: ExitStack) -> Troupe:
    """Make the server on its database. The embedded PostgreSQL runs as long as the stack is open."""
    if settings.database_url:
        return Troupe(settings, settings.database_url.get_secret_value(), log)
    postgres = stack.enter_context(embedded(settings.data))
    return Troupe(settings, postgres.dsn, log, postgres.start)


def _started(troupe: Troupe) -> None:
    settings, log = troupe.settings, troupe.log
    remember(settings)
    before = begin_run(settings.data, settings.node)
    if before and before != troupe.database.predecessor:
        log.record("shutdown.missed", node=before)
    if settings.sign_ups != settings.registrations:
        log.record("registrations.closed", decision="sign-ups are closed")
    if settings.test_hosts:
        log.record("test_hosts.allowed", decision=f"private addresses allowed: {', '.join(settings.test_hosts)}")
    log.record("server.listening", address=settings.base_url)
    announce(greeting(settings))


def _explain(error: BaseException, log: SupervisionLog) -> int:
    """Print why the server ends, in a line. The decisions of supervision are in the log."""
    failure = explained(error)
    if failure is None:
        announce("".join(traceback.format_exception(error)))
        return FAILED
    if isinstance(failure.error, Fenced):
        log.record("node.fenced", error=str(failure.error), decision="exit")
    announce(f"troupe: {failure.message}")
    return failure.exit_code


def _settle_memory() -> None:
    """Freeze the objects made at start, so that the collector never scans them again, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def _open_log(settings: Settings) -> tuple[SupervisionLog, Writer]:
    hold_standard_streams()
    terminal = os.isatty(STDOUT)
    form = as_json if settings.log_format == "json" or (settings.log_format == "auto" and not terminal) else (
        in_colour if terminal else as_text
    )  # fmt: skip

    writer = Writer(STDOUT)
    log = SupervisionLog(writer.write, SystemClock(), form, Level[settings.log_level.upper()], lost=writer.take_lost)
    return log, writer

"""The whole running system on one screen: its children, their parts, and the order in which they start.

troupe (rest_for_one, 3 crashes in 30 s)
├── traces          node    sends spans to a collector, if traces are on
├── metrics         node    answers Prometheus, if metrics are on
├── storage         node    this node's term and the connections to PostgreSQL
├── log             node    the level of the log, which can change
├── accounts        node    one actor an account: its writes, in order
├── homes           node    one actor a home timeline
├── lists           node    one actor a list: its terms, its members, its timeline
├── publics         node    the public timelines
├── tags            node    one actor a hashtag's timeline
├── housekeeping    node    slow turns, quarantines, sleep
├── bus             node    the connection to NATS, if the server is a node of a cluster
├── cluster         node    joins the other nodes, takes shards, and exchanges facts and commands
├── memory          node    returns memory to the system when many actors have gone to sleep
├── watchdog        node    finds turns and functions that keep the loop busy, in a thread of its own
├── parking         node    stores messages that crashed twice in dead_letters
├── emojis          node    the custom emoji, held in memory
├── blocks          node    the server-wide blocks, held in memory
├── sign_ups        node    who may sign up, held in memory
├── settings        node    the settings that change while the server runs
├── outgoing        node    the connections to other servers
├── federation      node    fetches documents of other servers
├── translation     node    the connections to the translation service, if any
├── announcements   shard   publishes committed changes whose publication a crash has prevented
├── mail            claim   sends mails that transactions have queued
├── push            claim   sends messages to the devices of users
├── deliveries      claim   sends activities to other servers
├── previews        claim   makes cards of the pages that statuses link to
├── inbox           claim   applies activities that other servers have delivered
├── refreshes       claim   fetches accounts of other servers again that an operator has named
├── lookups         claim   finds the accounts and posts of other servers that imported files name
├── media           leader  processes the uploads of its node; the leader removes unused uploads
├── films           node    fetches films of other servers
├── expiry          leader  deletes expired rows; every node stores who has visited it
├── old_rows        leader  converts rows of earlier versions for this version
├── disks           node    watches the free space
├── control         node    the command line's socket
├── certificate     node    reads the files of the TLS certificate again after a change, if the server has one
└── http            node    the listener: REST, streaming, OAuth, pages

In a cluster each node has this tree. The word after a child says which nodes do its work:

    node    every node: its own memory, actors, connections and files
    shard   the owner of the shard of the row (`actors/outbox/fact_relay.py`)
    claim   the node whose relay has claimed the row (`actors/outbox/relay.py`)
    leader  the leader: it is asked for before each round. Two leaders at once, for a moment, do no harm
"""

from __future__ import annotations

import random
import resource
import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .. import __version__
from ..actors.broadcast.publications import Publications
from ..actors.cluster.others import Others
from ..actors.configuration import Settings
from ..actors.deliveries.sender import ClientPost
from ..actors.facts.fact import Facts
from ..actors.federation.federation import Federation
from ..actors.federation.reception import Reception
from ..actors.housekeeping.expiry import Expiry
from ..actors.housekeeping.old_rows import OldRows
from ..actors.kernel import Ids, Runtime, SystemClock
from ..actors.kernel.watchdog import Watchdog, facts_of_turn, running_turn
from ..actors.media.processor import MediaProcessor
from ..actors.memory.push_key import PushKey, UnusablePushKey
from ..actors.outbox.relay import LEASE
from ..actors.outgoing.client import OutgoingClient
from ..actors.outgoing.mail_servers import MailServerLookup
from ..actors.previews.reader import PageReader
from ..actors.push.delivery import WebPush
from ..actors.push.encryption import PushEncryption
from ..actors.translation.libretranslate import translator_of
from ..http.access.context import HttpContext
from ..http.server.limits import count_open
from ..storage import outbox
from ..storage.engine.database import Connection, Database, Fenced, Unavailable
from ..storage.engine.term import AnotherNode
from .children import queues
from .children.actor_system import ActorSystem
from .children.database import SupervisedDatabase
from .children.http_server import HttpServer
from .children.notices import apply_notice
from .children.parking import Parking
from .control import DRAIN, RESUME, ControlSocket
from .inspector import Inspector
from .log.level import LiveLogLevel
from .log.log import SupervisionLog, as_json
from .log.recent import Operations
from .settings.domain import OtherDomain, require_domain
from .settings.media_folders import media_folder
from .supervisor import Child, Supervisor
from .system.certificate import certificate_of
from .system.disks import Disks
from .system.listeners import Listeners
from .system.memory import MemoryReturn
from .system.pauses import CollectorPauses
from .system.stalls import StallWatch
from .traces.wanted import Traces

if TYPE_CHECKING:
    from .children.cluster import ClusterNode

# With these errors the server ends at once, and is not restarted.
FATAL = (Fenced, AnotherNode, OtherDomain, UnusablePushKey)


# The settings that `troupe serve` takes from its options too.
PLACE = {"host", "port", "domain", "node"}


class Troupe:
    """A server process, built and not yet running."""

    def __init__(
        self,
        settings: Settings,
        dsn: str,
        log: SupervisionLog,
        revive: Callable[[], None] | None = None,
        traces: Traces | None = None,
    ) -> None:
        self.settings = settings
        self._traces = traces
        if traces is not None:
            log.trace_id = traces.trace_id
        self.listeners = Listeners(settings)
        self.certificate = certificate_of(settings, log.record)
        self.log = log
        clock = SystemClock()
        ids = Ids(clock)
        self._push_key = PushKey(settings.data / "vapid.pem")
        self.database = SupervisedDatabase(
            dsn, node=settings.node, size=settings.database_connections, takeover=settings.takeover,
            shared=settings.bus_url is not None, ids=ids, clock=clock, record=log.record,
            on_notice=self._take_notice, revive=revive, require=self._require_domain,
            prepare=self._prepare, traced=traces.database if traces else None,
        )  # fmt: skip
        self.log_level = LiveLogLevel(self.database, log, settings.log_level)
        self.parking = Parking(self.database, clock, ids)
        self.runtime = Runtime(
            record=self._record, chance=random.random, on_park=self.parking.park, unavailable=(Unavailable,),
            trace=traces.turn if traces else None,
        )  # fmt: skip
        self._pauses = CollectorPauses()
        self.stalls = StallWatch(
            settings.loop_stall_warning, log.record, clock, self._pauses,
            lambda: facts_of_turn(running_turn(self.runtime.pools)),
        )  # fmt: skip
        self.outgoing = OutgoingClient(settings.user_agent, test_hosts=settings.test_hosts)
        self.translator = translator_of(settings)
        folder = media_folder(settings, settings.node)
        self._ids = ids
        self._cluster: ClusterNode | None = None
        bus = settings.bus_url
        self.actors = ActorSystem(
            self.database, self.runtime, clock, ids, log.record,
            base_url=settings.base_url, local_domain=settings.local_domain,
            limited_federation=settings.limited_federation,
            folder=folder, tally_delay=settings.federation_tally_delay,
            timeline_memory=self._timeline_memory, others=partial(self._join, bus.get_secret_value()) if bus else None,
        )  # fmt: skip
        self.federation = Federation(self.actors.actor_context, self.runtime, self.outgoing, log.record)
        self.media = MediaProcessor(
            self.database, self.runtime, clock, log.record, self.actors.outbox, folder,
            self.actors.actor_context.others, key=lambda: secrets.token_hex(16),
        )  # fmt: skip
        self.http_context = HttpContext(
            settings=settings, database=self.database, runtime=self.runtime, clock=clock, ids=ids, record=log.record,
            secret=lambda: secrets.token_urlsafe(32), push_key=self._push_key,
            accounts=self.actors.accounts, statuses=self.actors.statuses, facts=self.actors.facts,
            viewers=self.actors.viewers, withdrawals=self.actors.withdrawals,
            blocks=self.actors.blocks, media=self.media, outgoing=self.outgoing, federation=self.federation,
            reception=Reception(
                self.actors.actor_context, self.federation.directory, self.federation.resolver.check_later
            ),
            mail_servers=MailServerLookup(settings.dns_servers), translator=self.translator,
            trace=traces.request if traces else None,
            operations=Operations(log.recent, self.supervisor_snapshot),
        )  # fmt: skip
        others = self.actors.actor_context.others
        self.expiry = Expiry(
            self.database, clock, log.record, self.actors.facts, self.http_context.tokens, self.http_context.visits,
            others,
        )  # fmt: skip
        self.old_rows = OldRows(self.database, clock, log.record, others)
        self._disks = Disks(self._folders(), log.record)
        self.http_context.readiness.is_disk_full = self._disks.is_full
        self._add_queues()
        self.supervisor = Supervisor("troupe", self._children(), log.record, fatal=FATAL)

    def _add_queues(self) -> None:
        """Add the queues to the outbox, each with its context. The tree has the relays in this order."""
        settings, clock = self.settings, self.http_context.clock
        push = WebPush(self.outgoing, PushEncryption(self._push_key, clock, settings.push_contact))
        self.actors.outbox.trace = self._traces.effect if self._traces else None
        add = self.actors.outbox.add
        self._mail = queues.mail_queue(settings, self.database, clock)
        self._push = queues.push_queue(self.actors, self.log.record, push)
        self._deliveries = queues.delivery_queue(
            self.actors, self.federation.keys, ClientPost(self.outgoing), random.random,
            settings.federation_first_retry, self.federation.check_inbox,
        )  # fmt: skip
        for queue in (self._mail, self._push, self._deliveries):
            add(queue)
        if settings.link_previews:
            add(queues.preview_queue(self.actors, PageReader(self.outgoing, self.media, clock, settings.languages)))
        add(queues.inbox_queue(self.actors, self.federation))
        add(queues.refresh_queue(self.actors, self.federation))
        add(queues.lookup_queue(self.actors, self.federation))

    def _children(self) -> list[Child]:
        """All parts in the order in which they start. Each may depend on those before it."""
        tree = {"tree": self.supervisor_snapshot}
        inspector = Inspector(self.runtime, self.actors.actor_context, self.http_context.streams)
        http = HttpServer(
            self.settings, self.http_context, self.actors, self.database, self.listeners, self.certificate
        )
        control = ControlSocket(
            self.settings.control_socket,
            {**tree, "doctor": self.self_report, DRAIN: http.drain, RESUME: http.resume, **inspector.answers()},
            self.listeners.hand_over,
            answers_outside={**tree, **inspector.answers_outside()},
        )  # fmt: skip
        watchdog = Watchdog(self.runtime.pools, self.log.record, control.answer_outside, self.stalls)
        resolver, films = self.federation.resolver, self.http_context.remote_files.films
        return [
            *([Child("traces", self._traces.run)] if self._traces else []),
            # Before the database, so that probes get an answer while the server waits for it.
            *self._metrics(),
            Child("storage", self.database.run, inspect=self.database.inspect),
            Child("log", self.log_level.run, inspect=self.log_level.inspect),
            *self.actors.children(),
            *(self._cluster.children() if self._cluster else []),
            Child("memory", MemoryReturn(self.actors.slept).run),
            Child("watchdog", partial(self.stalls.run, watchdog)),
            Child("parking", self.parking.run),
            *self.actors.loaders(),
            Child("sign_ups", self.http_context.sign_ups.run),
            Child("settings", self.http_context.live_settings.run),
            Child("outgoing", self.outgoing.run, inspect=self.outgoing.inspect),
            Child("federation", resolver.run, inspect=resolver.inspect),
            *([Child("translation", self.translator.run)] if self.translator else []),
            *self.actors.relays(),
            Child("media", self.media.run, inspect=self.media.inspect),
            Child("films", films.run, inspect=films.inspect),
            Child("expiry", self.expiry.run, inspect=self.expiry.inspect),
            Child("old_rows", self.old_rows.run, inspect=self.old_rows.inspect),
            Child("disks", self._disks.run, inspect=self._disks.inspect),
            Child("control", control.run),
            *([Child("certificate", self.certificate.run)] if self.certificate else []),
            # Last, so that requests come when everything runs, and it is the first to stop.
            Child("http", http.run, grace=self.settings.shutdown_grace),
        ]

    def _join(self, bus: str, facts: Facts, publications: Publications) -> Others:
        """Make this server a node of a cluster."""
        # Late: the client of NATS and the state of a node, which a server that is alone does not need.
        from .children.cluster import ClusterNode

        self._cluster = ClusterNode(
            self.settings, bus, self.database, self.runtime, facts, publications, self._ids, self.log.record
        )
        return self._cluster.others

    def _metrics(self) -> list[Child]:
        """Return the child that answers Prometheus, if metrics are on. Its modules are imported only then."""
        place = self.settings.metrics
        if place is None:
            return []
        # Late: 12 ms, 37 modules and 2.5 MiB, which only servers with metrics need.
        from .metrics.exposition import Exposition
        from .metrics.families import Sources
        from .metrics.server import MetricsServer

        sources = Sources(
            self.http_context.clock, self.log, self.http_context, self.actors, self.database, self._disks,
            self._mail.context, self._push.context, self._deliveries.context, lambda: self.supervisor.children,
            self._pauses, self.stalls,
        )  # fmt: skip
        readiness, waits = self.http_context.readiness, self.settings.takeover
        server = MetricsServer(place, Exposition(sources), readiness, self.log.record, waits=waits)
        return [Child("metrics", server.run)]

    def _timeline_memory(self) -> int:
        """Return the bytes that awake timelines may hold: staff can change the number while the server runs."""
        return self.http_context.settings.timeline_memory * 2**20

    def _folders(self) -> dict[str, Path]:
        """Return the folders whose disks are watched. A disk with two of them is reported once."""
        data = self.settings.data
        database = {} if self.settings.database_url else {"database": data / "postgres"}
        return {"data": data, "media": data / "media"} | database

    def supervisor_snapshot(self) -> dict[str, object]:
        return self.supervisor.snapshot()

    def self_report(self) -> dict[str, object]:
        """Return what `troupe doctor` can't see from outside: its version, stalls, refused calls, a probe's token.

        `place` has the options of `troupe serve` that name the address, which `troupe doctor` does not have, and
        `epochs` the epoch of each shard of accounts.
        """
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return {
            "descriptors": count_open(), "descriptor_limit": limit, "probe": self.http_context.probe.issue(),
            "loop": self.stalls.last_day(), "refusing": self.database.refusing(),
            "place": self.settings.model_dump(include=PLACE), "version": __version__, "epochs": self.database.epochs(),
        }  # fmt: skip

    async def _prepare(self, database: Database) -> None:
        """Prepare the database for this process, before any other part of it uses the database.

        Claims of effects are ended at once instead of at the end of their lease. The process holds the term, so no
        other process serves the database: all claims are of relays that have died. But after a takeover the
        predecessor may still work for a moment, so its claims are left to end by themselves. In a cluster the other
        nodes have claims too.
        """
        await self._push_key.load(database)
        if self.database.predecessor:
            await database.transact(outbox.limit_all, self.http_context.clock.now() + timedelta(seconds=LEASE))
        elif not self.database.has_joined:
            await database.transact(outbox.release_all)

    async def _require_domain(self, db: Connection) -> None:
        await require_domain(db, self.settings, self.settings.base_url)

    def _record(self, event: str, /, **facts: object) -> None:
        """Write a record for the runtime. After a crash the outbox is woken, because effects may be left."""
        self.log.record(event, **facts)
        if event in ("actor.crashed", "actor.quarantined"):
            self.actors.outbox.wake()

    def _take_notice(self, notice: str | None) -> None:
        apply_notice(notice, self.actors, self.http_context, self.log_level)


def declared() -> dict[str, object]:
    """Return the tree as it would be started."""
    log = SupervisionLog(lambda line: None, SystemClock(), as_json)
    with TemporaryDirectory() as folder:
        return Troupe(Settings(data=Path(folder)), "", log).supervisor.snapshot()

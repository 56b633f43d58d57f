"""The families of metrics, made of running numbers when they are asked for.

The sources of the numbers are the parts of the server, which count for themselves. Each function returns families of
one part. A label has few values: routes are patterns of paths, and no label names an account, a host or an address.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector

from ... import __version__
from ...actors.deliveries.sender import DeliveryResult, DeliverySender, HostClass
from ...actors.effects.registry import KINDS
from ...actors.kernel import Clock
from ...actors.kernel.inspection import KindSummary
from ...actors.mail.sender import MailResult, MailSender
from ...actors.outbox.relay import Result
from ...actors.push.sender import PushResult, PushSender
from ...http.access.context import HttpContext
from ...http.access.streams import CLIENT_LEFT, StreamCounts, StreamEnd
from ...storage.engine.histogram import Histogram
from ...storage.upkeep.backlog import Backlog, EffectBacklog
from ..children.actor_system import ActorSystem
from ..children.database import SupervisedDatabase
from ..log.log import SupervisionLog
from ..log.vocabulary import LogEvent
from ..supervisor import Child, ChildPhase
from ..system.disks import Disks
from ..system.pauses import CollectorPauses, LoopLag
from ..system.stalls import CAUSES, StallWatch


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts that are asked. A sender is None if nothing is sent, as mails without a mail server."""

    clock: Clock
    log: SupervisionLog
    http: HttpContext
    actors: ActorSystem
    database: SupervisedDatabase
    disks: Disks
    mail: MailSender | None
    push: PushSender | None
    deliveries: DeliverySender | None
    children: Callable[[], list[Child]]
    pauses: CollectorPauses
    stalls: StallWatch
    lag: LoopLag = field(default_factory=LoopLag)


HOST_CLASSES: tuple[HostClass, ...] = get_args(HostClass)
DELIVERY_RESULTS: tuple[DeliveryResult, ...] = get_args(DeliveryResult)
PUSH_RESULTS: tuple[PushResult, ...] = get_args(PushResult)
MAIL_RESULTS: tuple[MailResult, ...] = get_args(MailResult)
RESULTS: tuple[Result, ...] = get_args(Result)
ENDS = (CLIENT_LEFT, *(end.name.lower() for end in StreamEnd))

Values = Iterable[tuple[tuple[str, ...], float]]


def counter(name: str, meaning: str, labels: tuple[str, ...], values: Values) -> Metric:
    family = CounterMetricFamily(name, meaning, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family


def gauge(name: str, meaning: str, labels: tuple[str, ...], values: Values) -> Metric:
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family


def histogram(
    name: str, meaning: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], Histogram]]
) -> Metric:
    family = HistogramMetricFamily(name, meaning, labels=labels)
    for of, counted in values:
        names = (*map(str, counted.bounds), "+Inf")
        family.add_metric(of, list(zip(names, accumulate(counted.counts), strict=True)), counted.sum)
    return family


def families(
    sources: Sources, kinds: Sequence[KindSummary], backlog: Backlog | None, *, ready: bool
) -> Iterator[Metric]:
    """Yield all families. `backlog` is None without a database."""
    yield gauge("troupe_build_info", "The version that runs, as labels.", ("version", "python"), [
        ((__version__, sys.version.split()[0]), 1)
    ])  # fmt: skip
    yield gauge("troupe_ready", "1 if the server can do its work, as /health/ready says.", (), [((), ready)])
    yield from _actors(sources, kinds)
    for part in (_requests, _streams, _parts, _senders, _outbox, _database, _process):
        yield from part(sources)
    if backlog is not None:
        yield from _backlog(backlog)
    yield from ProcessCollector(registry=None).collect()


def _requests(sources: Sources) -> Iterator[Metric]:
    routes = sources.http.counts.routes
    yield counter(
        "troupe_http_requests", "Requests that were answered, with the pattern of their path.",
        ("method", "route", "status"),
        (((*of, str(status)), count) for of, route in routes.items() for status, count in route.statuses.items()),
    )  # fmt: skip
    yield histogram(
        "troupe_http_request_duration_seconds", "Time until the answer was made; of a stream, until it was open.",
        ("method", "route"), ((of, route.seconds) for of, route in routes.items()),
    )  # fmt: skip


def _streams(sources: Sources) -> Iterator[Metric]:
    streams = sources.http.streams
    both: dict[str, StreamCounts] = {"websocket": streams.websockets, "sse": streams.server_sent}
    yield gauge(
        "troupe_streams_open", "Streaming connections that are open.", ("transport",),
        (((transport,), counts.open) for transport, counts in both.items()),
    )  # fmt: skip
    yield counter(
        "troupe_streams_opened", "Streaming connections that were opened.", ("transport",),
        (((transport,), counts.opened) for transport, counts in both.items()),
    )  # fmt: skip
    yield counter(
        "troupe_stream_events", "Events that were sent to streaming clients, each time they were.", ("transport",),
        (((transport,), counts.events) for transport, counts in both.items()),
    )  # fmt: skip
    yield counter(
        "troupe_streams_ended", "Streaming connections that have ended: cuts by their reason, and clients that left.",
        ("transport", "reason"),
        (((transport, reason), counts.ends[reason]) for transport, counts in both.items() for reason in ENDS),
    )  # fmt: skip


def _actors(sources: Sources, kinds: Sequence[KindSummary]) -> Iterator[Metric]:
    of_kind = ("kind",)
    gauges: dict[str, tuple[str, Callable[[KindSummary], float]]] = {
        "troupe_actors_awake": ("Actors that are awake.", lambda summary: summary.awake),
        "troupe_actor_mailbox_messages": ("Messages that wait in mailboxes.", lambda summary: summary.depth),
        "troupe_actor_oldest_message_age_seconds": (
            "Age of the message that waits for the longest time; 0 if none waits.", lambda summary: summary.oldest
        ),
        "troupe_actor_longest_turn_seconds": (
            "Time that the longest turn has taken so far.", lambda summary: summary.turn
        ),
        "troupe_actor_subscribers": ("Streams that are subscribed to actors.", lambda summary: summary.subscribers),
        "troupe_actors_quarantined": ("Actors in quarantine.", lambda summary: summary.quarantined),
    }  # fmt: skip
    for name, (meaning, number) in gauges.items():
        yield gauge(name, meaning, of_kind, [((summary.kind,), number(summary)) for summary in kinds])
    yield counter(
        "troupe_actor_restarts", "Incarnations that replaced another incarnation, also to read rows again.",
        of_kind, (((summary.kind,), summary.restarts) for summary in kinds),
    )  # fmt: skip
    pools = sources.actors.runtime.pools
    yield counter(
        "troupe_actors_slept", "Times that an actor was put to sleep.", of_kind,
        (((kind,), pool.slept) for kind, pool in pools.items()),
    )  # fmt: skip
    yield counter(
        "troupe_actor_crashes", "Crashes of actors.", of_kind,
        (((kind,), pool.recovery.crashes) for kind, pool in pools.items()),
    )  # fmt: skip
    yield counter(
        "troupe_actor_quarantines", "Times that an actor was put in quarantine.", of_kind,
        (((kind,), pool.recovery.quarantines) for kind, pool in pools.items()),
    )  # fmt: skip
    yield counter(
        "troupe_messages_parked", "Messages that crashed an actor twice and were parked in dead_letters.", of_kind,
        (((kind,), pool.recovery.parked) for kind, pool in pools.items()),
    )  # fmt: skip


def _parts(sources: Sources) -> Iterator[Metric]:
    children = sources.children()
    yield counter(
        "troupe_child_starts", "Starts of a part of the supervision tree; all but the first are restarts.", ("child",),
        (((child.name,), child.starts) for child in children),
    )  # fmt: skip
    yield gauge(
        "troupe_child_running", "1 if a part of the supervision tree runs.", ("child",),
        (((child.name,), child.phase is ChildPhase.RUNNING) for child in children),
    )  # fmt: skip
    yield counter(
        "troupe_log_records", "Records of the supervision log, also folded records and records below the level.",
        ("event", "level"),
        (((event.word, event.level.name.lower()), sources.log.counts[event]) for event in LogEvent),
    )  # fmt: skip


def _senders(sources: Sources) -> Iterator[Metric]:
    """Tries by their results, also results without tries: a rate needs the 0 before the first try."""
    deliveries, push, mail = sources.deliveries, sources.push, sources.mail
    yield counter(
        "troupe_deliveries", "Tries to deliver an activity, by the state of the host and the result.",
        ("host_class", "result"),
        ((of, 0 if deliveries is None else deliveries.results[of]) for of in product(HOST_CLASSES, DELIVERY_RESULTS)),
    )  # fmt: skip
    yield counter(
        "troupe_pushes", "Tries to send a message to a device.", ("result",),
        (((result,), 0 if push is None else push.results[result]) for result in PUSH_RESULTS),
    )  # fmt: skip
    yield counter(
        "troupe_mails", "Tries to send a mail.", ("result",),
        (((result,), 0 if mail is None else mail.results[result]) for result in MAIL_RESULTS),
    )  # fmt: skip


def _outbox(sources: Sources) -> Iterator[Metric]:
    relays = {relay.queue: relay for relay in sources.actors.outbox.relays}
    yield counter(
        "troupe_outbox_tries", "Tries to run an effect, by the result.", ("effect", "result"),
        (
            ((name, result), relays[kind.queue].results[name, result])
            for name, kind in KINDS.items() if kind.queue in relays for result in RESULTS
        ),
    )  # fmt: skip


def _backlog(backlog: Backlog) -> Iterator[Metric]:
    found = {effect.kind: effect for effect in backlog.effects}
    effects = [found.get(kind) or EffectBacklog(kind, 0, 0, 0.0) for kind in {**KINDS, **found}]
    yield gauge(
        "troupe_outbox_effects", "Effects in the outbox: due now, or due at a later time.", ("effect", "state"),
        (((effect.kind, state), count) for effect in effects for state, count in effect.by_state),
    )  # fmt: skip
    yield gauge(
        "troupe_outbox_oldest_due_seconds", "Time since the effect was due that is late for the longest time.",
        ("effect",), (((effect.kind,), effect.late_for) for effect in effects),
    )  # fmt: skip
    yield gauge("troupe_dead_letters", "Messages that are parked in dead_letters.", (), [((), backlog.dead_letters)])


def _database(sources: Sources) -> Iterator[Metric]:
    use, numbers = sources.database.use(), sources.database.numbers
    yield gauge("troupe_database_connections", "Connections to PostgreSQL that are open.", (), [((), use.connected)])
    yield gauge("troupe_database_connections_busy", "Open connections with a call.", (), [((), use.busy)])
    yield gauge("troupe_database_calls_waiting", "Calls that wait for a connection.", (), [((), use.waiting)])
    yield counter("troupe_database_calls_refused", "Calls that got no connection in time.", (), [((), numbers.refused)])
    yield counter(
        "troupe_database_connections_lost", "Connections to PostgreSQL that were lost.", (), [((), numbers.lost)]
    )
    yield histogram(
        "troupe_database_wait_seconds", "Time that calls have waited for a connection.", ("call",),
        (((call,), times.waited) for call, times in numbers.times.items()),
    )  # fmt: skip
    yield histogram(
        "troupe_database_call_duration_seconds", "Time that calls took on a connection, with all their statements.",
        ("call",), (((call,), times.took) for call, times in numbers.times.items()),
    )  # fmt: skip


def _process(sources: Sources) -> Iterator[Metric]:
    yield histogram(
        "troupe_loop_lag_seconds", "Time by which a task of the event loop wakes too late.", (),
        [((), sources.lag.seconds)],
    )  # fmt: skip
    stalls = sources.stalls
    yield counter(
        "troupe_loop_stalls", "Times that the event loop was kept for longer than loop_stall_warning, by the cause.",
        ("cause",), (((cause,), stalls.counts[cause]) for cause in CAUSES),
    )  # fmt: skip
    yield gauge(
        "troupe_loop_longest_stall_seconds", "The longest of these times since the server started.", (),
        [((), stalls.longest)],
    )  # fmt: skip
    yield histogram(
        "troupe_gc_pause_seconds", "Time that a run of Python's garbage collector took.", ("generation",),
        (((str(generation),), seconds) for generation, seconds in enumerate(sources.pauses.seconds)),
    )  # fmt: skip
    disks = sources.disks.measured
    yield gauge(
        "troupe_disk_free_bytes", "Bytes that the server may still write to a disk.", ("disk",),
        (((name,), room.free) for name, room in disks.items()),
    )  # fmt: skip
    yield gauge(
        "troupe_disk_size_bytes", "The size of a disk.", ("disk",),
        (((name,), room.size) for name, room in disks.items()),
    )  # fmt: skip

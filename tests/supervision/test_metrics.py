"""What is counted by senders, the relay and the disks, as metrics name it."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio
import trio.testing
from prometheus_client.exposition import generate_latest

from troupe.actors.cluster.others import Alone
from troupe.actors.deliveries.sender import DeliveryPutOff, DeliveryRefused, DeliveryReply, DeliverySender
from troupe.actors.outgoing.messages import Unreachable
from troupe.actors.push.delivery import PushReply
from troupe.actors.push.sender import PushFailed, PushPutOff, PushSender
from troupe.storage.engine.histogram import Histogram
from troupe.storage.federation.hosts import Host
from troupe.storage.upkeep.backlog import Backlog
from troupe.supervision.metrics import exposition
from troupe.supervision.metrics.exposition import PATIENCE, Exposition, FamilyRegistry, written
from troupe.supervision.metrics.families import gauge, histogram
from troupe.supervision.metrics.server import HEAD_PATIENCE, MOST_CLIENTS, MetricsServer
from troupe.supervision.system.disks import FULL, Disks
from troupe.supervision.system.pauses import CollectorPauses, LoopLag

from ..small_disks import resize, small_disk
from ..stand_ins import answering, unrecorded

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


class Hosts:
    """One host, of which something is known."""

    def __init__(self, known: Host, closed_until: datetime | None) -> None:
        self._known = known
        self._closed_until = closed_until

    async def find(self, host: str) -> Host:
        return self._known

    async def closed_until(self, host: str) -> datetime | None:
        return self._closed_until

    async def note(self, *about: object, **more: object) -> None:
        """Take what a delivery says about the host."""

    succeeded = answered = failed = note


def deliverer(known: Host, post: Callable[..., Awaitable[DeliveryReply]], closed: datetime | None = None) -> Any:
    """A sender of one activity to a host of which this is known."""

    async def read(*_: object) -> object:
        return SimpleNamespace(account_id=None, private_key=None)

    async def key() -> None:
        return None

    blocks = SimpleNamespace(domains=SimpleNamespace(standing_of=answering(SimpleNamespace(suspended=False))))
    context: Any = SimpleNamespace(
        hosts=Hosts(known, closed), blocks=blocks, database=SimpleNamespace(read=read), chance=lambda: 0.5,
        clock=SimpleNamespace(now=lambda: NOON), first_retry=1.0, keys=SimpleNamespace(changes=0, of_server=key),
    )  # fmt: skip
    sender: Any = DeliverySender(context, cast("Any", None))

    async def knock(*_: object) -> tuple[DeliveryReply, str]:
        return await post(), "cavage"

    sender._send_signed = knock  # no keys and no network
    return sender


NEW, WORKING, FAILING = Host("a"), Host("a", delivered_at=NOON), Host("a", delivered_at=NOON, failures=2)


@pytest.mark.parametrize(
    ("known", "answer", "closed", "counted"),
    [
        (NEW, 202, None, ("new", "delivered")),
        (WORKING, 202, None, ("working", "delivered")),
        (WORKING, 404, None, ("working", "refused")),
        (WORKING, 500, None, ("working", "failed")),
        (FAILING, Unreachable("gone"), None, ("failing", "failed")),
        (FAILING, 202, NOON, ("failing", "left_alone")),
    ],
)
async def test_deliveries_are_counted_by_host_class_and_result(
    known: Host, answer: int | Exception, closed: datetime | None, counted: tuple[str, str]
) -> None:
    async def post() -> DeliveryReply:
        if isinstance(answer, Exception):
            raise answer
        return DeliveryReply(answer)

    sender = deliverer(known, post, closed)
    with contextlib.suppress(DeliveryPutOff, DeliveryRefused):
        await sender.send(1, "https://a.example/inbox", "a.example", 1)
    assert sender.results == {counted: 1}


@pytest.mark.parametrize(
    ("status", "retry_after", "counted"),
    [(201, None, "sent"), (410, None, "ended"), (500, None, "failed"), (429, "60", "put_off"), (0, None, "not_shown")],
)
async def test_pushes_are_counted_by_result(status: int, retry_after: str | None, counted: str) -> None:
    async def read(*_: object) -> object:
        return SimpleNamespace(service="push.example")

    async def deliver(*_: object) -> PushReply:
        return PushReply(status, retry_after)

    async def message(*_: object) -> bytes | None:
        return b"hello" if status else None

    context: Any = SimpleNamespace(
        database=SimpleNamespace(read=read),
        clock=SimpleNamespace(now=lambda: NOON),
        record=unrecorded,
        others=Alone(),
    )
    sender: Any = PushSender(context, deliver)
    sender._message = message
    with contextlib.suppress(PushFailed, PushPutOff):
        await sender.send(1, 2, None)
    assert sender.results == {counted: 1}


def test_a_histogram_counts_a_value_at_its_bound_and_all_below() -> None:
    values = Histogram((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7):
        values.observe(value)
    family = histogram("a_seconds", "About a.", (), [((), values)])
    assert [(one.name, one.labels.get("le"), one.value) for one in family.samples] == [
        ("a_seconds_bucket", "0.1", 2), ("a_seconds_bucket", "1.0", 3), ("a_seconds_bucket", "+Inf", 4),
        ("a_seconds_count", None, 4), ("a_seconds_sum", None, pytest.approx(7.65)),
    ]  # fmt: skip


def test_a_large_family_is_written_in_pieces_that_make_the_same_text() -> None:
    family = gauge("a_things", "About a.", ("one",), [((str(number),), number) for number in range(1100)])
    whole = generate_latest(FamilyRegistry(family))
    pieces = list(written(family))
    assert (len(pieces), b"".join(pieces)) == (3, whole)
    empty = gauge("a_things", "About a.", (), [])
    assert b"".join(written(empty)) == generate_latest(FamilyRegistry(empty))


async def test_metrics_wait_no_longer_than_seconds_for_a_database_that_hangs(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = 0

    async def hang(*_: object) -> Backlog:
        nonlocal counts
        counts += 1
        with trio.CancelScope(shield=True):  # as the pool, which waits for what it has begun
            await trio.sleep(60)
        return Backlog((), counts)

    async def kinds() -> tuple[()]:
        return ()

    told: list[Backlog | None] = []

    def families(_: object, __: object, backlog: Backlog | None, **___: object) -> tuple[()]:
        told.append(backlog)
        return ()

    monkeypatch.setattr(exposition, "families", families)
    sources: Any = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: NOON),
        database=SimpleNamespace(read=hang),
        actors=SimpleNamespace(runtime=SimpleNamespace(inspection=SimpleNamespace(kinds=kinds))),
        lag=LoopLag(),
        pauses=CollectorPauses(),
    )
    metrics = Exposition(sources)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(metrics.run)
        began = trio.current_time()
        for _ in range(3):
            await metrics.text(ready=True)
        assert (trio.current_time() - began, told, counts) == (pytest.approx(3 * PATIENCE), [None] * 3, 1)
        await trio.sleep_until(began + 61)
        await metrics.text(ready=True)
        assert told[-1] == Backlog((), 1)
        nursery.cancel_scope.cancel()


SLOW = {"head": b"GET /met", "answer": b"GET /metrics HTTP/1.1\r\n\r\n"}


@pytest.mark.parametrize("client", SLOW)
async def test_a_probe_of_health_is_answered_at_the_cost_of_the_slowest_clients(client: str, tmp_path: Path) -> None:
    """Half of the clients send no whole request, or take no answer, and stay for as long as they may."""
    path, stopping, patience = tmp_path / "metrics.sock", trio.Event(), HEAD_PATIENCE / 2
    served = MetricsServer(path, cast("Any", LongText()), cast("Any", Well()), unrecorded, waits=False)
    async with trio.open_nursery() as nursery:
        await nursery.start(served.run, stopping)
        with trio.fail_after(patience):
            slow = [await trio.open_unix_socket(path) for _ in range(2 * MOST_CLIENTS)]
            for one in slow:
                with contextlib.suppress(trio.BrokenResourceError):  # the first ones may be cut off by now
                    await one.send_all(SLOW[client])
            await trio.testing.wait_all_tasks_blocked(0.01)
            probe = await trio.open_unix_socket(path)
            await probe.send_all(b"GET /health/live HTTP/1.1\r\n\r\n")
            answer = b"".join([part async for part in probe])
            assert answer.startswith(b"HTTP/1.1 200")
            with contextlib.suppress(trio.BrokenResourceError):
                while await slow[0].receive_some():
                    pass  # it ends for the first one, which has waited for the longest time
        stopping.set()
        for one in slow:
            await one.aclose()


class LongText:
    """Metrics that fit into no buffer of a socket."""

    async def run(self) -> None:
        """Measure nothing."""

    async def text(self, *, ready: bool) -> bytes:
        return bytes(2**22)


class Well:
    """A server that is ready."""

    async def obstacles(self) -> list[str]:
        return []


def test_the_pauses_of_the_collector_are_measured_while_metrics_are_on() -> None:
    pauses = CollectorPauses()
    with pauses.measured():
        gc.collect(0)
        gc.collect(2)
    gc.collect(2)
    assert [sum(one.counts) for one in pauses.seconds] == [1, 0, 1]


async def test_a_disk_is_full_when_postgresql_has_no_room_for_its_log(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", f"{FULL + 2**20}") as data:
        disks = Disks({"data": data, "media": data / "not there yet"}, unrecorded)
        assert not disks.is_full()
        resize(data, f"{FULL - 2**20}")
        assert disks.is_full()
        await disks.look()
        assert disks.measured["data"].size == FULL - 2**20


# As a process that serves does, until it listens. Each takes a part of a second and some MiB.
MAKE_A_SERVER = """
import sys
import troupe.supervision.commands.serve
import troupe.supervision.process
from troupe.http.router import all_paths
from troupe.supervision.tree import declared
declared()
all_paths()
print([name for name in sys.argv[1:] if name in sys.modules])
"""
LATE = (
    "prometheus_client", "opentelemetry", "obstore", "pyvips", "pywebpush", "rich", "cryptography", "httpcore2", "dns",
    "http_message_signatures", "http_sf", "nh3", "markdown_it", "quart", "werkzeug", "jinja2", "flask",
    "hypercorn.asyncio", "segno",
)  # fmt: skip


def test_the_libraries_are_imported_only_when_they_are_wanted() -> None:
    command = [sys.executable, "-c", MAKE_A_SERVER, *LATE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"

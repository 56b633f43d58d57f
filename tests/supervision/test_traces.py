"""Traces: a span for a request, below it those of its turns, and below these their calls of the database."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
import trio
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, StatusCode

from troupe.actors.effects.registry import Attempt
from troupe.actors.kernel import Crashed, Origin, Refused
from troupe.http.access.rates import RequestCounts
from troupe.http.answers.answer import Answer, FinishedAnswer, SharedHeaders
from troupe.http.answers.errors import Unauthorized
from troupe.http.intake.request import Request
from troupe.http.streaming.admission import ROUTE, shake_hands
from troupe.storage.engine.database import Database
from troupe.supervision.traces.spans import OpenTelemetryTraces
from troupe.supervision.traces.wanted import is_wanted, traces_from

from ..kernel.acting import Action, Kernel, Player

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"


class Spans:
    """Traces whose spans are kept in memory."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.traces = OpenTelemetryTraces(SimpleSpanProcessor(self._exporter))

    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def one(self, name: str) -> ReadableSpan:
        (found,) = (span for span in self.all() if span.name == name)
        return found


class Rows:
    """A database that answers at once."""

    async def read(self, work: Any, /, *args: Any) -> Any:
        return await work(None, *args)

    transact = transact_alone = transact_checked = read


async def find_rows(db: object) -> str:
    return "rows"


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
async def kernel(spans: Spans, nursery: trio.Nursery) -> AsyncIterator[Kernel]:
    kernel = Kernel(trace=spans.traces.turn)
    await nursery.start(kernel.pool.run, kernel.stopping)
    yield kernel
    kernel.stopping.set()


def request(**headers: str) -> Request:
    return Request(
        "GET", "/api/v1/things/7", b"", [(name.encode(), text.encode()) for name, text in headers.items()], "192.0.2.1",
        cast("Any", None), "r1",
    )  # fmt: skip


def finished(status: int = 200) -> FinishedAnswer:
    return FinishedAnswer(Answer(status=status), SharedHeaders(()))


def id_of(span: ReadableSpan) -> str:
    return f"{context_of(span).span_id:016x}"


def context_of(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


def parent_of(span: ReadableSpan) -> str:
    return "" if span.parent is None else f"{span.parent.span_id:016x}"


async def test_a_request_its_turns_and_their_transactions_are_one_tree(spans: Spans, kernel: Kernel) -> None:
    database: Database = spans.traces.database(cast("Any", Rows()))

    async def first(player: Player) -> str:
        await database.transact(find_rows)
        return await player.ask_player("b", second)

    async def second(player: Player) -> str:
        return await database.read(find_rows)

    asked = request(traceparent=SAMPLED)

    async def answering() -> FinishedAnswer:
        assert await kernel.ask("a", first, origin=asked.origin) == "rows"
        return finished()

    await spans.traces.request("/api/v1/things/<id>", asked, answering())
    assert [span.name.split()[0] for span in spans.all()] == ["transaction", "read", "Do", "Do", "GET"]
    transaction, read, inner, outer, whole = spans.all()
    assert whole.name == "GET /api/v1/things/<id>"
    assert parent_of(whole) == SPAN
    assert {f"{context_of(span).trace_id:032x}" for span in spans.all()} == {TRACE}
    assert [parent_of(span) for span in (outer, transaction, inner, read)] == [
        id_of(whole), id_of(outer), id_of(outer), id_of(inner)
    ]  # fmt: skip
    assert transaction.name == "transaction test_traces.find_rows"
    assert attributes(outer) == {
        "troupe.actor": "player/a", "troupe.actor.kind": "player", "troupe.message_id": 1, "troupe.request_id": "r1"
    }  # fmt: skip
    assert attributes(whole) == {
        "http.request.method": "GET", "http.route": "/api/v1/things/<id>", "troupe.request_id": "r1",
        "http.response.status_code": 200,
    }  # fmt: skip


def attributes(span: ReadableSpan) -> Mapping[str, object]:
    return dict(span.attributes or {})


async def test_told_messages_keep_the_trace_and_plain_turns_have_spans(spans: Spans, kernel: Kernel) -> None:
    told = trio.Event()
    await kernel.ask(
        "a", lambda player: player.tell_player("b", lambda _: told.set()), origin=Origin("r1", (), SAMPLED)
    )
    await told.wait()
    outer, inner = spans.all()
    assert (parent_of(outer), parent_of(inner)) == (SPAN, id_of(outer))


async def test_a_crash_is_marked_and_its_record_has_the_trace(spans: Spans, kernel: Kernel) -> None:
    async def fail(player: Player) -> None:
        raise ValueError("a secret")

    actions: list[Action] = [fail, lambda player: 1 / 0]
    for action in actions:
        with pytest.raises(Crashed):
            await kernel.ask("a", action, origin=Origin("r1", (), SAMPLED))
    assert [span.status.status_code for span in spans.all()] == [StatusCode.ERROR] * 2
    assert [attributes(span)["error.type"] for span in spans.all()] == ["ValueError", "ZeroDivisionError"]
    assert "secret" not in str([span.to_json() for span in spans.all()])
    assert [facts["trace_id"] for facts in kernel.told("actor.crashed")] == [TRACE] * 2


async def test_a_refusal_is_an_answer_and_no_error(spans: Spans, kernel: Kernel) -> None:
    with pytest.raises(Refused):
        await kernel.ask("a", lambda player: Refused(404, "not here"), origin=Origin("r1", (), SAMPLED))
    (span,) = spans.all()
    assert (attributes(span)["troupe.refused"], span.status.status_code) == (404, StatusCode.UNSET)


async def test_what_is_not_sampled_has_no_spans_below(spans: Spans, kernel: Kernel) -> None:
    asked = request(traceparent=UNSAMPLED)

    async def answering() -> FinishedAnswer:
        await kernel.ask("a", lambda player: None, origin=asked.origin)
        return finished()

    await spans.traces.request("/", asked, answering())
    await kernel.ask("a", lambda player: None)
    assert spans.all() == ()


async def test_failed_requests_are_marked_and_a_malformed_header_begins_a_trace(spans: Spans) -> None:
    async def answering() -> FinishedAnswer:
        assert re.fullmatch("[0-9a-f]{32}", spans.traces.trace_id())
        return finished(503)

    await spans.traces.request("none", request(traceparent="00-nonsense"), answering())
    assert spans.traces.trace_id() == ""
    (span,) = spans.all()
    assert (span.parent, span.status.status_code) == (None, StatusCode.ERROR)


async def test_tries_of_an_effect_are_spans_below_what_promised_it(spans: Spans) -> None:
    def attempt(number: int) -> Attempt:
        return Attempt(4711, number, datetime(2026, 11, 23, tzinfo=UTC), Origin("r1", ("PublishStatus#1",), SAMPLED))

    async def fail(attempt: Attempt) -> None:
        raise ConnectionError("a secret")

    told: list[Origin] = []

    async def succeed(attempt: Attempt) -> None:
        told.append(attempt.origin)

    with pytest.raises(ConnectionError):
        await spans.traces.effect("delivery", attempt(1), fail)
    await spans.traces.effect("delivery", attempt(2), succeed)
    first, second = spans.all()
    assert [(span.name, parent_of(span)) for span in (first, second)] == [("effect delivery", SPAN)] * 2
    assert (attributes(first)["error.type"], first.status.status_code) == ("ConnectionError", StatusCode.ERROR)
    assert attributes(second) == {
        "troupe.effect": "delivery", "troupe.effect.id": 4711, "troupe.attempt": 2, "troupe.request_id": "r1"
    }  # fmt: skip
    (origin,) = told
    assert (origin.trace_id, origin.trace[36:52]) == (TRACE, id_of(second)), "what it sends is below it"
    assert "secret" not in first.to_json()


async def test_the_handshake_of_a_stream_is_a_span(spans: Spans) -> None:
    opened = cast("Any", object())

    async def opening() -> Any:
        assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", asked.origin.trace)
        return opened

    async def refused() -> Any:
        raise Unauthorized("no token")

    context = cast("Any", SimpleNamespace(trace=spans.traces.request, counts=RequestCounts()))
    asked = request(traceparent=SAMPLED)
    assert await shake_hands(context, asked, opening(), 101) is opened
    answer = await shake_hands(context, request(traceparent=SAMPLED), refused(), 101)
    assert isinstance(answer, FinishedAnswer)
    assert [span.name for span in spans.all()] == [f"GET {ROUTE}"] * 2
    assert [parent_of(span) for span in spans.all()] == [SPAN] * 2
    assert [attributes(span)["http.response.status_code"] for span in spans.all()] == [101, 401]
    assert dict(context.counts.routes["GET", ROUTE].statuses) == {101: 1, 401: 1}


class Records(list[tuple[str, dict[str, Any]]]):
    """The supervision log of a test."""

    def __call__(self, event: str, /, **facts: Any) -> None:
        self.append((event, facts))


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "a"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
    ],
)
def test_the_environment_asks_for_traces(environment: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environment) == wanted


@pytest.mark.parametrize(
    "environment",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
)
def test_what_cannot_be_sent_is_logged(environment: dict[str, str]) -> None:
    records = Records()
    assert traces_from(environment, records) is None
    assert [event for event, _ in records] == ["traces.off"]


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the extra is not installed."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "troupe.supervision.traces.spans")


@pytest.mark.usefixtures("without_library")
def test_without_the_extra_the_server_says_what_to_install() -> None:
    records = Records()
    assert traces_from({"OTEL_TRACES_EXPORTER": "otlp"}, records) is None
    ((event, facts),) = records
    assert (event, facts["decision"]) == ("traces.off", "pip install 'troupe-server[traces]'")

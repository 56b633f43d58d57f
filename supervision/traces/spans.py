"""Spans of OpenTelemetry: for each request, below it for its turns, and below these for their transactions.

An effect has a span for each try, below the span of the turn that queued it, also after a restart: the row of the
effect has the id of that span.

A message carries the span that has sent it in its origin (`traceparent`), because turns are taken in tasks of their
pool. Inside a task, a context variable of OpenTelemetry has the current span. Requests that are not sampled have no
origin with a trace, so that nothing below them costs anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import trio
from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ... import __version__
from ...actors.effects.registry import Attempt, Finish
from ...actors.kernel import Address, Envelope, Refused
from ...actors.kernel.actor import Turn
from ...http.access.context import A
from ...http.intake.request import Request
from ...storage.engine.database import Connection, Database, Entering

P = ParamSpec("P")
T = TypeVar("T")

NAME = "OTEL_SERVICE_NAME"
ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES"
W3C = (b"traceparent", b"tracestate")
LAST_SENDING = 4.0  # seconds in which the last spans must be sent

_w3c = TraceContextTextMapPropagator()


class OpenTelemetryTraces:
    """Makes the spans, and hands them to a processor."""

    def __init__(self, processor: SpanProcessor, attributes: Mapping[str, str] | None = None) -> None:
        # Not the provider of the process: nothing else in it makes spans.
        self._provider = TracerProvider(resource=Resource.create(dict(attributes or {})), shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("troupe", __version__)

    @classmethod
    def to_collector(cls, environment: Mapping[str, str]) -> OpenTelemetryTraces:
        """Return traces that are sent as the environment says. OpenTelemetry reads all but the names itself."""
        named = NAME in environment or "service.name" in environment.get(ATTRIBUTES, "")
        own = {"service.version": __version__} | ({} if named else {"service.name": "troupe"})
        return cls(BatchSpanProcessor(OTLPSpanExporter()), own)

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Wait for the end, and send the remaining spans."""
        task_status.started()
        await stopping.wait()
        with trio.move_on_after(LAST_SENDING):
            await trio.to_thread.run_sync(self._provider.force_flush, int(LAST_SENDING * 1000), abandon_on_cancel=True)

    def trace_id(self) -> str:
        found = api.get_current_span().get_span_context()
        return f"{found.trace_id:032x}" if found.is_valid else ""

    async def request(self, route: str, request: Request, answering: Awaitable[A], /) -> A:
        carried = {name.decode(): value for name in W3C if (value := request.header(name)) is not None}
        span = self._tracer.start_span(
            f"{request.method} {route}", _w3c.extract(carried), SpanKind.SERVER,
            {"http.request.method": request.method, "http.route": route, "troupe.request_id": request.request_id},
        )  # fmt: skip
        with _current(span):
            request.trace = _traceparent(span)
            answer = await answering
            span.set_attribute("http.response.status_code", answer.status)
            if answer.status >= 500:
                span.set_status(Status(StatusCode.ERROR))
            return answer

    def turn(self, address: Address, envelope: Envelope, turn: Turn) -> tuple[Envelope, Turn]:
        span = self._tracer.start_span(
            envelope.kind, _w3c.extract({"traceparent": envelope.origin.trace}), SpanKind.INTERNAL,
            {
                "troupe.actor": str(address), "troupe.actor.kind": address.kind, "troupe.message_id": envelope.id,
                "troupe.request_id": envelope.origin.request_id,
            },
        )  # fmt: skip
        # One without a context of its own would be taken for one that is not traced.
        origin = replace(envelope.origin, trace=_traceparent(span) or envelope.origin.trace)
        return replace(envelope, origin=origin), partial(_take, span, turn)

    async def effect(
        self, kind: str, attempt: Attempt, execute: Callable[[Attempt], Awaitable[Finish | None]]
    ) -> Finish | None:
        origin = attempt.origin
        span = self._tracer.start_span(
            f"effect {kind}", _w3c.extract({"traceparent": origin.trace}), SpanKind.CONSUMER,
            {
                "troupe.effect": kind, "troupe.effect.id": attempt.id, "troupe.attempt": attempt.number,
                "troupe.request_id": origin.request_id,
            },
        )  # fmt: skip
        with _current(span):
            return await execute(replace(attempt, origin=replace(origin, trace=_traceparent(span) or origin.trace)))

    def database(self, database: Database) -> Database:
        return TracedDatabase(database, self._call)

    @contextmanager
    def _call(self, kind: str, work: Callable[..., object]) -> Generator[None]:
        """A context for a call of the database, in a span if the task has one already."""
        if not api.get_current_span().is_recording():
            yield
            return
        with _current(self._tracer.start_span(
            f"{kind} {_name_of(work)}", kind=SpanKind.CLIENT,
            attributes={"db.system.name": "postgresql", "db.operation.name": kind},
        )):  # fmt: skip
            yield


# Returns the span of a call of the database, by its kind and the function that it runs.
CallSpan = Callable[[str, Callable[..., object]], AbstractContextManager[None]]


class TracedDatabase:
    """A database whose calls have spans."""

    def __init__(self, database: Database, call: CallSpan) -> None:
        self._database = database
        self._call = call

    async def transact(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._call("transaction", work):
            return await self._database.transact(work, *args, **kwargs)

    async def transact_in(
        self, shard: int, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._call("transaction", work):
            return await self._database.transact_in(shard, work, *args, **kwargs)

    def entering(self, shard: int) -> Entering:
        return self._database.entering(shard)

    async def transact_alone(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._call("statement", work):
            return await self._database.transact_alone(work, *args, **kwargs)

    async def transact_checked(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._call("statement", work):
            return await self._database.transact_checked(work, *args, **kwargs)

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        with self._call("read", work):
            return await self._database.read(work, *args, **kwargs)


def _take(span: Span, turn: Turn, actor: object, message: object) -> object:
    """Run a turn in a span. A turn that waits ends the span later."""
    with _current(span, ends=False):
        try:
            answer = turn(actor, message)
        except BaseException as error:
            _fail(span, error)
            span.end()
            raise
    if inspect.iscoroutine(answer):
        return _wait(span, answer)
    _note_refusal(span, answer)
    span.end()
    return answer


async def _wait(span: Span, turn: Coroutine[object, object, object]) -> object:
    with _current(span):
        answer = await turn
        _note_refusal(span, answer)
        return answer


@contextmanager
def _current(span: Span, *, ends: bool = True) -> Generator[None]:
    """Make a span the current span of this task until the block ends."""
    try:
        with api.use_span(span, record_exception=False, set_status_on_exception=False):
            yield
    except BaseException as error:
        if ends:
            _fail(span, error)
        raise
    finally:
        if ends:
            span.end()


def _fail(span: Span, error: BaseException) -> None:
    """Note the class of an error. Its text may quote texts of people."""
    span.set_attribute("error.type", type(error).__qualname__)
    span.set_status(Status(StatusCode.ERROR))


def _note_refusal(span: Span, answer: object) -> None:
    if isinstance(answer, Refused):
        span.set_attribute("troupe.refused", answer.status)


def _traceparent(span: Span) -> str:
    """Return a span for W3C's header, or nothing if it is not recorded."""
    if not span.is_recording():
        return ""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def _name_of(work: Callable[..., object]) -> str:
    """Return the module and the function that a call runs, such as `statuses.find`."""
    function = work.func if isinstance(work, partial) else work
    module = inspect.getmodule(function)
    place = "" if module is None else f"{module.__name__.rpartition('.')[2]}."
    return place + getattr(function, "__qualname__", type(function).__qualname__)

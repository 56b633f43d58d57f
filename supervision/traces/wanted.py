"""The environment's request for traces, by the variables that OpenTelemetry has for all programs.

They are sent if a collector or an exporter is named: `OTEL_EXPORTER_OTLP_ENDPOINT`, its form for traces alone, or
`OTEL_TRACES_EXPORTER=otlp`. All other variables (headers, samplers, limits, the name of the service) mean what
OpenTelemetry says. The library is imported only then, and is an extra: `pip install 'troupe-server[traces]'`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import trio

from ...actors.effects.registry import Attempt, Finish
from ...actors.kernel import Address, Envelope, Record
from ...actors.kernel.actor import Turn
from ...http.access.context import A
from ...http.intake.request import Request
from ...storage.engine.database import Database

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
EXPORTER = "OTEL_TRACES_EXPORTER"
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"
DISABLED = "OTEL_SDK_DISABLED"


class Traces(Protocol):
    """The functions that the server calls so that its work is traced."""

    def trace_id(self) -> str:
        """Return the trace of the current task; empty if it has none."""
        ...

    async def request(self, route: str, request: Request, answering: Awaitable[A], /) -> A:
        """Answer in a span."""
        ...

    def turn(self, address: Address, envelope: Envelope, turn: Turn) -> tuple[Envelope, Turn]:
        """Return a turn that is taken in a span, and its message, whose origin is that span."""
        ...

    async def effect(
        self, kind: str, attempt: Attempt, execute: Callable[[Attempt], Awaitable[Finish | None]]
    ) -> Finish | None:
        """Run an effect in a span below the span that queued it."""
        ...

    def database(self, database: Database) -> Database:
        """Return a database whose calls have spans."""
        ...

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None]) -> None:
        """Send spans until `stopping`, then the remaining spans."""
        ...


def traces_from(environment: Mapping[str, str], record: Record) -> Traces | None:
    """Return traces as the environment wants them. None if it wants none, or if they can't be sent, which is logged."""
    if not is_wanted(environment):
        return None
    exporter = environment.get(EXPORTER) or "otlp"
    protocol = next((environment[name] for name in PROTOCOLS if environment.get(name)), SPOKEN)
    if exporter != "otlp" or protocol != SPOKEN:
        wrong = f"{EXPORTER}={exporter}" if exporter != "otlp" else f"the protocol {protocol}"
        record("traces.off", error=f"{wrong} is not known here", decision=f"use otlp by {SPOKEN}")
        return None
    try:
        from .spans import OpenTelemetryTraces  # late: 30 ms, 126 modules, 5 MiB
    except ImportError as error:
        record("traces.off", error=error, decision="pip install 'troupe-server[traces]'")
        return None
    return OpenTelemetryTraces.to_collector(environment)


def is_wanted(environment: Mapping[str, str]) -> bool:
    """True if the variables name a collector or an exporter."""
    if environment.get(DISABLED, "").lower() == "true" or environment.get(EXPORTER) == "none":
        return False
    return any(environment.get(name) for name in (*ENDPOINTS, EXPORTER))

"""A collector of traces that takes what a server sends by OTLP over HTTP, on loopback."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    """What arrived, and where."""

    port: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    services: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])

    def take(self, path: str, body: bytes) -> None:
        sent = ExportTraceServiceRequest.FromString(body)
        self.paths.add(path)
        for group in sent.resource_spans:
            named = {one.key: one.value.string_value for one in group.resource.attributes}
            self.services.add(named["service.name"])
            for scope in group.scope_spans:
                self.spans += scope.spans

    def of(self, trace: str) -> list[Span]:
        """Return the spans of a trace."""
        return [span for span in list(self.spans) if span.trace_id.hex() == trace]


@contextmanager
def collector() -> Generator[Collector]:
    """A collector that runs until the block ends."""
    collected = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collected.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collected.port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield collected
        server.shutdown()

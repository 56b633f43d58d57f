"""Traces of a real server, sent to a collector by the variables that OpenTelemetry has for all programs."""

from __future__ import annotations

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from .. import plain_http
from .collecting import Collector, collector
from .patience import eventually
from .server import Server

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_a_post_is_one_trace_through_request_turns_and_transactions(own_server: Server) -> None:
    with collector() as collected:
        own_server.settings |= sent_to(collected)
        own_server.start()
        (ada,) = own_server.people("ada")
        with plain_http.client(base_url=own_server.url, headers=ada.headers) as client:
            assert client.get("/api/v1/timelines/home").status_code == 200
            headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
            assert client.post("/api/v1/statuses", json={"status": "Hello"}, headers=headers).status_code == 200
        spans = {span.name: span for span in eventually(lambda: whole(collected))}
        request, publish = spans["POST /api/v1/statuses"], spans["PublishStatus"]
        assert request.parent_span_id.hex() == CALLER
        assert publish.parent_span_id == request.span_id
        assert spans["StatusPublished"].parent_span_id == publish.span_id
        stored = [span for name, span in spans.items() if name.startswith(("statement ", "transaction "))]
        assert publish.span_id in {span.parent_span_id for span in stored}
        assert collected.services == {"stage"}
        assert collected.paths == {"/v1/traces"}
        assert own_server.stop() == 0, own_server.log


def test_the_last_spans_are_sent_at_the_end(own_server: Server) -> None:
    with collector() as collected:
        own_server.settings |= sent_to(collected) | {"OTEL_BSP_SCHEDULE_DELAY": "600000"}
        own_server.start()
        assert plain_http.get(f"{own_server.url}/about").status_code == 200
        assert collected.spans == []
        assert own_server.stop() == 0, own_server.log
        assert "GET /about" in {span.name for span in collected.spans}


def sent_to(collected: Collector) -> dict[str, str]:
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collected.port}", "OTEL_SERVICE_NAME": "stage",
        "OTEL_BSP_SCHEDULE_DELAY": "200", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip


def whole(collected: Collector) -> list[Span]:
    found = collected.of(TRACE)
    names = {span.name for span in found}
    return found if {"POST /api/v1/statuses", "PublishStatus", "StatusPublished"} <= names else []


def test_a_collector_that_is_away_disturbs_nobody(own_server: Server) -> None:
    own_server.settings |= sent_to(Collector(port=1)) | {"OTEL_EXPORTER_OTLP_TIMEOUT": "0.5"}
    own_server.start()
    (ada,) = own_server.people("ada")
    assert ada.app.status_post("Hello").content == "<p>Hello</p>"
    assert own_server.stop() == 0, own_server.log
    assert not own_server.events("request.failed")

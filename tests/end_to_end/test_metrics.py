"""Metrics of a real server: Prometheus' own program reads them, and each moves when what it counts happens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from troupe.storage.engine.connect import connect, run
from troupe.storage.engine.embedded import embedded

from .. import plain_http
from ..data_folders import copy_data
from ..mail.mailserver import HOST, MailServer
from .conftest import made
from .patience import eventually
from .scraping import Scraped, promtool, scrape, text_at, with_metrics
from .server import Server

OPERATIONS = files("troupe") / "supervision" / "operations"
ALERTS = Path(str(OPERATIONS / "alerts.yml"))
DASHBOARD: dict[str, Any] = json.loads((OPERATIONS / "dashboard.json").read_text("utf-8"))
# What is no metric of ours: Prometheus makes `up` itself.
MADE_BY_PROMETHEUS = {"up"}
NAME = re.compile(r"\b(?:troupe|process)_[a-z0-9_]+\b")


@pytest.fixture(scope="module")
def watched(prepared: Path) -> Iterator[tuple[Server, str]]:
    """A running server and the address of its metrics."""
    with made() as server:
        copy_data(prepared, server.data)
        address = with_metrics(server)
        server.start()
        yield server, address
        assert server.stop() == 0, server.log


def get(server: Server, path: str, **headers: str) -> int:
    return plain_http.get(f"{server.url}{path}", headers=headers).status_code


def used(server: Server) -> None:
    """Have the server answer a few requests, so that its histograms have values."""
    (ada,) = server.people("ada")
    assert get(server, "/api/v1/timelines/home", **ada.headers) == 200
    assert get(server, "/about") == 200


def expressions() -> list[str]:
    """The expressions of the dashboard, with values in the place of its variables."""
    targets = [target for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    return [target["expr"].replace("$instance", "a:1").replace("$__rate_interval", "1m") for target in targets]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]]


def test_promtool_finds_nothing_wrong_with_the_metrics(watched: tuple[Server, str]) -> None:
    server, address = watched
    used(server)
    promtool("check", "metrics", text=text_at(address))


def test_promtool_finds_nothing_wrong_with_the_rules_and_the_dashboard(tmp_path: Path) -> None:
    promtool("check", "rules", str(ALERTS))
    records = [{"record": f"a{number}", "expr": expr} for number, expr in enumerate(expressions())]
    file = tmp_path / "dashboard.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": records}]}))
    promtool("check", "rules", str(file))


def test_rules_and_dashboard_ask_for_metrics_that_are_there(watched: tuple[Server, str]) -> None:
    server, address = watched
    used(server)
    there = scrape(address).names | MADE_BY_PROMETHEUS
    for expr in [*expressions(), *(rule["expr"] for rule in rules())]:
        assert set(NAME.findall(expr)) <= there, expr


def test_every_metric_is_on_the_dashboard(watched: tuple[Server, str]) -> None:
    server, address = watched
    used(server)
    shown = {name for expr in expressions() for name in NAME.findall(expr)}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in scrape(address).names if "troupe_" in name}
    assert families == {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown if "troupe_" in name}


def test_every_rule_says_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert {*rule["annotations"]} == {"summary", "description"}


def test_requests_are_counted_by_route_and_status(watched: tuple[Server, str]) -> None:
    server, address = watched
    before = scrape(address)
    (ada,) = server.people("ada")
    status = ada.app.status_post("Hello")
    assert get(server, f"/api/v1/statuses/{status.id}", **ada.headers) == 200  # the fast path
    assert get(server, "/about") == 200  # Quart
    assert get(server, f"/no/such/{status.id}") == 404
    assert get(server, "/api/v1/statuses/1", **ada.headers) == 404
    after = scrape(address)

    def more(**labels: str) -> float:
        name = "troupe_http_requests_total"
        return after.of(name, method="GET", **labels) - before.of(name, method="GET", **labels)

    route = "/api/v1/statuses/<id>"
    assert (more(route=route, status="200"), more(route=route, status="404")) == (1, 1)
    assert (more(route="/about", status="200"), more(route="none", status="404")) == (1, 1)
    name = "troupe_http_request_duration_seconds"
    assert after.of(f"{name}_count", route=route) - before.of(f"{name}_count", route=route) == 2
    assert after.of(f"{name}_sum", route=route) > before.of(f"{name}_sum", route=route)
    assert not [of for _, of in after if str(status.id) in str(of)]


def test_streams_and_their_events_are_counted(watched: tuple[Server, str]) -> None:
    server, address = watched
    before = scrape(address)
    (ada,) = server.people("ada")
    with (
        plain_http.client(base_url=server.url, headers=ada.headers, timeout=30) as client,
        client.stream("GET", "/api/v1/streaming/user") as stream,
    ):
        assert stream.status_code == 200
        lines = stream.iter_lines()
        ada.app.status_post("Hello")
        assert next(line for line in lines if line.startswith("event")) == "event: update"
        during = scrape(address)
    assert during.of("troupe_streams_open", transport="sse") == before.of("troupe_streams_open", transport="sse") + 1
    assert during.of("troupe_stream_events_total") == before.of("troupe_stream_events_total") + 1
    assert during.of("troupe_http_requests_total", route="/api/v1/streaming/<stream>", status="200") > 0
    assert during.of("troupe_actor_subscribers", kind="home") > 0
    name = "troupe_streams_ended_total"
    eventually(lambda: scrape(address).of(name, reason="client_left") > before.of(name, reason="client_left"))


def test_a_stream_that_is_cut_is_counted_by_its_reason(watched: tuple[Server, str]) -> None:
    server, address = watched
    (ada,) = server.people("ada")
    before = scrape(address).of("troupe_streams_ended_total", reason="revoked")
    with plain_http.stream("GET", f"{server.url}/api/v1/streaming/user", headers=ada.headers) as stream:
        assert stream.status_code == 200
        assert server.troupe("tokens", "revoke", ada.name, "--all", "--yes").returncode == 0
        for _ in stream.iter_bytes():
            pass
    eventually(lambda: scrape(address).of("troupe_streams_ended_total", reason="revoked") == before + 1)


def test_actors_and_the_process_are_seen(watched: tuple[Server, str]) -> None:
    server, address = watched
    used(server)
    seen = eventually(lambda: with_pauses(scrape(address)))
    assert seen.of("troupe_actors_awake", kind="account") > 0
    assert seen.of("troupe_actors_awake", kind="home") > 0
    assert seen.of("troupe_child_running", child="storage") == 1
    assert seen.of("troupe_child_starts_total", child="http") == 1
    assert seen.of("troupe_log_records_total", event="server.listening") == 1
    assert seen.of("troupe_ready") == 1
    assert seen.of("troupe_outbox_oldest_due_seconds", effect="mail") == 0
    for name in ("troupe_disk_free_bytes", "troupe_disk_size_bytes", "process_open_fds", "process_max_fds"):
        assert seen.of(name) > 0, name
    assert seen.of("troupe_database_connections") == 8
    for kind in ("read", "transaction"):
        assert seen.of("troupe_database_call_duration_seconds_count", call=kind) > 0
        assert seen.of("troupe_database_wait_seconds_count", call=kind) > 0


def with_pauses(seen: Scraped) -> Scraped:
    """Return a scrape after the loop's lag was measured; of the collector's runs there may be none yet."""
    return seen if seen.of("troupe_loop_lag_seconds_count") > 0 else Scraped()


def test_lost_connections_late_effects_and_parked_messages_are_seen(own_server: Server) -> None:
    address = with_metrics(own_server)
    own_server.start()
    do(own_server, PROMISE, PARKED)
    seen = eventually(lambda: late(scrape(address)))
    assert seen.of("troupe_outbox_effects", effect="mail", state="due") == 1
    assert seen.of("troupe_outbox_effects", effect="mail", state="later") == 1
    assert seen.of("troupe_dead_letters") == 1
    do(own_server, KILL_CONNECTIONS)
    eventually(lambda: scrape(address).of("troupe_database_connections_lost_total") >= 8)
    own_server.stop()


# A mail that was due a minute ago, and that no relay takes without a mail server; and one for tomorrow.
PROMISE = """
    INSERT INTO outbox (id, queue, kind, partition_key, shard, payload, due_at, created_at)
    SELECT number, 'mail', 'mail', 'a', 0, '{}', now() + wait, now() - interval '1 minute'
    FROM (VALUES (1, interval '-1 minute'), (2, interval '1 day')) AS two (number, wait)
"""
# Its id is of this moment: the server removes those of long ago when it has started.
PARKED = """
    INSERT INTO dead_letters (id, address, kind, message, error, created_at)
    VALUES ((extract(epoch FROM now()) * 1000)::bigint << 16, 'home/1', 'Told', '{}', 'it failed', now())
"""
KILL_CONNECTIONS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'troupe/term=%'
"""


def late(seen: Scraped) -> Scraped:
    return seen if seen.of("troupe_outbox_oldest_due_seconds", effect="mail") >= 60 else Scraped()


def do(server: Server, *statements: str) -> None:
    """Run statements in the database of a running server."""

    async def main(dsn: str) -> None:
        connection = await connect(dsn, application_name="test")
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    with embedded(server.data) as postgres:
        run(lambda: main(postgres.dsn))


def test_mails_are_counted_by_their_result(post: MailServer, prepared: Path) -> None:
    with made() as server:
        copy_data(prepared, server.data)
        address = with_metrics(server)
        server.settings |= {"TROUPE_SMTP_HOST": HOST, "TROUPE_SMTP_PORT": str(post.port), "TROUPE_SMTP_TLS": "none"}
        server.start()
        do(server, NOTICE, WAKE)
        assert post.receive("ada@example.org").body
        eventually(lambda: scrape(address).of("troupe_mails_total", result="sent") == 1)
        assert scrape(address).of("troupe_outbox_tries_total", effect="notice", result="done") == 1
        assert server.stop() == 0


WAKE = "SELECT pg_notify('troupe', 'outbox')"
NOTICE = """
    INSERT INTO outbox (id, queue, kind, partition_key, shard, payload, due_at, created_at)
    SELECT 1, 'mail', 'notice', 'a', 0,
        '{"letter": "password_changed", "to": "ada@example.org", "username": "ada", "locale": null}', now(), now()
"""

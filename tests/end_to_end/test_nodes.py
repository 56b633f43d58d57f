"""Where the server runs: its addresses, an external database, and a second server on the same one."""

import socket
from pathlib import Path

import httpx
import pytest

from troupe.storage.engine.connect import transact_once
from troupe.storage.engine.database import Connection
from troupe.storage.engine.embedded import embedded

from .server import Server, free_port

GAVE_UP = 70
NOT_STARTED = 1


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_it_listens_on_both_loopback_addresses(server: Server, address: str) -> None:
    with socket.create_connection((address, server.port)) as connection:
        connection.sendall(b"GET /api/v1/streaming/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        with connection.makefile("rb") as answer:
            assert answer.readline().startswith(b"HTTP/1.1 200")


def test_it_serves_from_an_outer_database(new_server: Server, cluster_data: Path) -> None:
    with embedded(cluster_data, durable=False) as outer:
        new_server.settings["TROUPE_DATABASE_URL"] = outer.dsn
        new_server.start()
        (ada,) = new_server.people("ada")
        assert ada.app.status_post("Far from home").account.username == ada.name
        assert not (new_server.data / "postgres").exists()
        assert new_server.stop() == 0


def test_a_second_server_on_the_same_data_is_refused_unless_it_takes_over(own_server: Server) -> None:
    own_server.start()
    first = own_server.process
    assert first is not None
    (ada,) = own_server.people("ada")
    refused = own_server.troupe("serve", "--port", str(free_port()))
    told = f"another server runs on this database (process {first.pid} on {socket.gethostname()}, since "
    assert told in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert refused.returncode == NOT_STARTED
    assert ada.app.status_post("Still the first").id
    second = Server(own_server.data)
    second.settings["TROUPE_TAKEOVER"] = "true"
    second.port = own_server.port  # which the first one gives up only when it has ended
    second.start()
    try:
        assert own_server.wait() == GAVE_UP
        (fenced,) = own_server.events("node.fenced")
        assert second.process is not None
        assert f"another server took over the database: process {second.process.pid} on " in str(fenced["error"])
        (takeover,) = second.events("node.takeover")
        assert f"process {first.pid} on " in str(takeover["node"])
        assert second.events("shutdown.missed") == []
        assert second.troupe("tree").returncode == 0
        assert ada.app.status_post("Now the second").id
    finally:
        assert second.stop() == 0


def test_a_server_serves_on_at_once_after_a_takeover_that_was_refused(own_server: Server) -> None:
    own_server.start()
    own_server.people("ada")
    refused = own_server.troupe("serve", "--takeover", "--port", str(own_server.port), "--domain", "other.example")
    assert "domain is other.example" in refused.stderr
    health = httpx.get(f"{own_server.url}/api/v1/streaming/health", timeout=10)
    assert health.status_code == 200
    assert own_server.stop() == 0


@pytest.mark.parametrize("settings", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}], ids=["", "traced"])
def test_a_server_whose_shards_were_taken_commits_nothing(own_server: Server, settings: dict[str, str]) -> None:
    own_server.settings |= settings
    own_server.start()
    (ada,) = own_server.people("ada")
    status = ada.app.status_post("Mine").id
    with embedded(own_server.data) as postgres:
        transact_once(postgres.dsn, raise_epochs)
    for path in ("statuses", f"statuses/{status}/pin", f"statuses/{status}/bookmark"):
        refused = httpx.post(f"{own_server.url}/api/v1/{path}", data={"status": "Late"}, headers=ada.headers)
        assert refused.status_code == 503, refused.text
    assert own_server.stop() == 0


async def raise_epochs(db: Connection) -> None:
    await db.execute("UPDATE shards SET epoch = epoch + 1")


def test_the_tree_is_that_of_the_node_with_the_name(own_server: Server) -> None:
    own_server.settings["TROUPE_NODE"] = "second"
    own_server.start()
    assert own_server.troupe("tree").returncode == 0
    assert own_server.troupe("tree", TROUPE_NODE="main").returncode == NOT_STARTED
    assert own_server.troupe("tree", "--node", "second", TROUPE_NODE="main").returncode == 0
    assert own_server.stop() == 0
    assert not list(own_server.data.glob("*second*"))


def test_a_refused_server_has_changed_nothing(own_server: Server) -> None:
    """A schema that lacks a step is that of an older server."""
    own_server.start()
    with embedded(own_server.data) as postgres:
        transact_once(postgres.dsn, forget_the_newest_step)
        before = transact_once(postgres.dsn, newest_step)
        for words in (("serve", "--port", str(free_port())), ("migrate",), ("tokens", "create", "ada")):
            refused = own_server.troupe(*words)
            assert refused.returncode == NOT_STARTED
            assert len(refused.stderr.splitlines()) == 1
            assert transact_once(postgres.dsn, newest_step) == before
    assert own_server.stop() == 0


async def newest_step(db: Connection) -> int:
    return await db.fetchval("SELECT max(number) FROM schema_migrations")


async def forget_the_newest_step(db: Connection) -> None:
    await db.execute("DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)")

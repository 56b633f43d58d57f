"""Health of a real server in each state, as it is told beside the public address, and there without its database."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from .. import plain_http
from ..data_folders import copy_data, passable_folder
from ..small_disks import fill, resize, small_disk
from . import crowds
from .crowds import FEW, MOST_CLIENTS, crowd, postgres
from .patience import eventually
from .poisoning import database, each_alone
from .scraping import scrape, with_metrics
from .server import Server


def obstacles(address: str) -> list[str] | None:
    """Return what the server names; nothing if it is ready, None if it does not answer there."""
    try:
        answer = plain_http.get(f"{address}/health/ready", timeout=30)
    except httpx.TransportError:
        return None
    if answer.status_code == 200:
        assert answer.json() == {"status": "UP"}
        return []
    assert answer.status_code == 503
    assert answer.json()["error"].startswith("Not ready: ")
    return answer.json()["details"]["obstacles"]


def is_alive(address: str) -> bool:
    return plain_http.get(f"{address}/health/live", timeout=30).json() == {"status": "UP"}


@contextmanager
def mute_database() -> Generator[str]:
    """The URL of a database that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"postgresql://troupe@127.0.0.1:{listener.getsockname()[1]}/troupe"


def test_a_server_that_starts_is_alive_and_not_ready(new_server: Server) -> None:
    address = with_metrics(new_server)
    with mute_database() as url:
        new_server.settings["TROUPE_DATABASE_URL"] = url
        new_server.fork()
        assert eventually(lambda: obstacles(address)) == ["starting"]
        assert is_alive(address)
        assert scrape(address).of("troupe_child_running", child="storage") == 0
        new_server.kill()


def test_a_server_that_stops_is_alive_and_not_ready(own_server: Server) -> None:
    address = with_metrics(own_server)
    own_server.start()
    assert obstacles(address) == []
    with socket.create_connection(("127.0.0.1", own_server.port)) as client:
        client.sendall(b"POST /api/v1/statuses HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab")
        own_server.send(signal.SIGTERM)
        eventually(lambda: obstacles(address) == ["stopping"])
        assert is_alive(address)
        assert scrape(address).of("troupe_ready") == 0
    assert own_server.wait() == 0, own_server.log


def test_a_server_without_its_database_is_alive_and_not_ready(own_server: Server) -> None:
    address, public = with_metrics(own_server), own_server.url
    own_server.start()
    assert obstacles(public) == []
    processes = postgres(own_server)
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        # Its count begins on a connection that is free, and hangs: the rest is told without it.
        assert "troupe_outbox_effects" not in scrape(address).names
        eventually(lambda: obstacles(address) == ["database"])
        assert is_alive(address)
        seen = scrape(address)
        assert (seen.of("troupe_ready"), "troupe_outbox_effects" in seen.names) == (0, False)
        began = time.monotonic()
        assert obstacles(public) == ["database"]
        assert time.monotonic() - began < 5
        assert plain_http.get(f"{public}/health", timeout=30).status_code == 200
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)
    eventually(lambda: obstacles(address) == [])
    assert obstacles(public) == []
    own_server.stop()


def test_a_server_on_a_full_disk_is_not_ready(prepared: Path) -> None:
    with passable_folder() as folder, small_disk(folder / "disk", "400m", mode="0777") as disk:
        copy_data(prepared, disk / "data")
        server = Server(disk / "data")
        try:
            address = with_metrics(server)
            server.start()
            assert obstacles(address) == []
            fill(disk / "rest")
            eventually(lambda: "disk" in (obstacles(address) or ()))
            resize(disk, "600m")
            eventually(lambda: obstacles(address) == [])
            server.stop()
        finally:
            server.end()


def test_a_server_without_descriptors_for_clients_is_not_ready(own_server: Server) -> None:
    address = with_metrics(own_server)
    own_server.descriptors = FEW
    own_server.start()
    with crowd(own_server, MOST_CLIENTS) as clients:

        def crowded() -> list[str] | None:
            """Look with a crowd that also takes what the server has closed of its own meanwhile."""
            crowds.fill(own_server, clients, len(clients) + 1)
            return obstacles(address)

        assert eventually(crowded) == ["descriptors"]
        assert scrape(address).of("process_open_fds") > 90
    eventually(lambda: obstacles(address) == [])


def test_health_and_metrics_are_on_a_unix_socket_that_only_its_user_reads(own_server: Server) -> None:
    path = own_server.data / "metrics.sock"
    own_server.settings["TROUPE_METRICS"] = str(path)
    own_server.start()
    assert asked(path, "GET", "/metrics")[0] == 200
    assert asked(path, "GET", "/health/ready") == (200, b'{"status":"UP"}')
    assert asked(path, "HEAD", "/health/ready") == (200, b"")
    assert asked(path, "POST", "/metrics")[0] == 405
    assert asked(path, "GET", "/api/v1/instance")[0] == 404
    assert plain_http.get(f"{own_server.url}/metrics").status_code == 404
    assert own_server.stop() == 0
    assert not path.exists()


def asked(path: Any, method: str, target: str) -> tuple[int, bytes]:
    """Return the status and the body of an answer on a Unix socket."""
    client = http.client.HTTPConnection("localhost")
    client.sock = socket.socket(socket.AF_UNIX)
    client.sock.connect(str(path))
    client.request(method, target)
    answer = client.getresponse()
    return answer.status, answer.read()


def test_an_address_that_is_taken_ends_the_start(own_server: Server) -> None:
    with_metrics(own_server)
    port = int(own_server.settings["TROUPE_METRICS"].rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):
        done = own_server.troupe("serve", "--port", str(own_server.port))
    assert done.returncode == 70 or done.returncode == 1
    assert f"can't listen on 127.0.0.1:{port} for metrics" in done.stderr


def test_a_database_that_can_only_be_read_makes_nothing_crash(own_server: Server) -> None:
    own_server.start()
    ada, dsn = own_server.people("ada")[0], database(own_server)
    each_alone(dsn, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    assert eventually(lambda: obstacles(own_server.url)) == ["read_only"]
    with plain_http.client(base_url=own_server.url, headers=ada.headers, timeout=30) as client:
        for number in range(5):
            assert client.post("/api/v1/statuses", data={"status": f"no {number}"}).status_code == 503
        assert client.get("/api/v1/timelines/home").status_code == 200
        each_alone(
            dsn, "SET default_transaction_read_only = off", "ALTER SYSTEM RESET default_transaction_read_only",
            "SELECT pg_reload_conf()",
        )  # fmt: skip
        assert eventually(lambda: obstacles(own_server.url) == [])
        assert client.post("/api/v1/statuses", data={"status": "yes"}).status_code == 200
    assert own_server.stop() == 0
    assert [word for word in own_server.record_words() if "crashed" in word or "lost" in word] == []
    assert str(own_server.events("storage.refused")[0]["error"]).startswith("PostgreSQL is read-only")

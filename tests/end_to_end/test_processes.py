"""`troupe serve --processes 2`: real processes on one port, the nats-server between them, and their parent."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from troupe.http.server.listener import bind
from troupe.supervision.system.signals import ECHO_SECONDS

from .. import plain_http
from ..data_folders import copy_data
from ..processes import processes_of, until_gone
from .conftest import made
from .server import START, Person, Server, free_port
from .terminals import a_terminal

NAMES = ("main-1", "main-2")
PATIENCE = 60  # seconds
BROKER = "nats-server"
CODE_WHEN_GIVEN_UP = 70

HEALTH = b"GET /api/v1/streaming/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def shared(prepared: Path) -> Iterator[Server]:
    """A server of two processes, which the tests that end none of them share."""
    with made() as server:
        copy_data(prepared, server.data)
        with of_two(server):
            yield server


@pytest.fixture
def several(own_server: Server) -> Iterator[Server]:
    """A server of two processes, which runs. Afterwards nothing of it is left, also of its nats-server."""
    with of_two(own_server):
        yield own_server


@contextmanager
def of_two(server: Server) -> Generator[None]:
    server.settings["TROUPE_PROCESSES"] = "2"
    server.listening = "Troupe is at "  # which the parent says when all processes listen
    server.start()
    broker = brokers_of(server.pid)
    try:
        yield
    finally:
        if server.process is not None:
            assert server.stop() == 0, server.log
        until_gone(server.data)
        until(lambda: not any(map(runs, broker)))


def until(holds: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_free(port: int) -> bool:
    """True if the port can be bound. The sockets of a killed process stay open until its last thread has ended."""
    try:
        for listener in bind([("127.0.0.1", port), ("::1", port)]):
            listener.close()
    except OSError:
        return False
    return True


def node(server: Server, name: str) -> int:
    """The process of a node. Waits until there is one."""
    found: list[int] = []

    def look() -> bool:
        found[:] = processes_of(server.data, f"--node {name}")
        return len(found) == 1

    until(look)
    return found[0]


def brokers_of(parent: int) -> list[int]:
    """The nats-servers that a process has started."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            name, _, rest = (folder / "stat").read_text().rpartition(")")
            if name.endswith(f"({BROKER}") and int(rest.split()[1]) == parent:
                found.append(int(folder.name))
    return found


def broker_of(server: Server, before: int = 0) -> int:
    """The nats-server of a server, or the next one after an earlier one."""
    found: list[int] = []

    def look() -> bool:
        found[:] = [process for process in brokers_of(server.pid) if process != before]
        return len(found) == 1

    until(look)
    return found[0]


def descriptors(process: int) -> set[str]:
    links: set[str] = set()
    with suppress(OSError):
        for link in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                links.add(os.readlink(link))
    return links


def process_at(port: int, client_port: int, processes: dict[str, int]) -> str:
    """The node that has accepted the connection of a client."""
    inodes: list[str] = []

    def look() -> bool:
        rows = [
            line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
        ]
        ends = [(*(int(end.rpartition(":")[2], 16) for end in row[1:3]), row[9]) for row in rows]
        inodes[:] = [inode for local, remote, inode in ends if (local, remote) == (port, client_port)]
        return inodes not in ([], ["0"])

    until(look)
    found = [name for name, process in processes.items() if f"socket:[{inodes[0]}]" in descriptors(process)]
    return found[0] if found else ""


@contextmanager
def client_of(server: Server, name: str, person: Person) -> Generator[httpx.Client]:
    """A client whose one connection is with a node."""
    processes = {name: node(server, name) for name in NAMES}
    # A process that is connected to keeps the connection, so the next one may be with the other process.
    for _ in range(200):
        limits = httpx.Limits(max_connections=1, keepalive_expiry=None)
        with plain_http.client(base_url=server.url, headers=person.headers, limits=limits, timeout=30) as client:
            answered = client.get("/api/v1/instance")
            stream: socket.socket = answered.extensions["network_stream"].get_extra_info("socket")
            if process_at(server.port, stream.getsockname()[1], processes) == name:
                yield client
                return
    raise AssertionError(f"{name} takes no connections")


class Asking:
    """Clients that connect again and again, with what they were answered."""

    def __init__(self, port: int, count: int = 4) -> None:
        self.answers: list[bytes] = []
        self.errors: list[OSError] = []
        self._port = port
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]

    def __enter__(self) -> Asking:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(START)

    def _ask(self) -> None:
        while not self._over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self._port), START) as client:
                    client.sendall(HEALTH)
                    self.answers.append(b"".join(iter(lambda: client.recv(65536), b""))[:12])
            except OSError as error:
                self.errors.append(error)


def records(server: Server, event: str, name: str | None) -> list[dict[str, object]]:
    return [record for record in server.events(event) if record.get("node") == name]


# Serving ---------------------------------------------------------------------------------------------------------


def test_people_see_at_each_process_what_was_posted_at_the_other(shared: Server) -> None:
    ada, bob = shared.people("ada", "bob")
    with client_of(shared, "main-1", ada) as first, client_of(shared, "main-2", bob) as second:
        for number in range(10):
            writer, reader = (first, second) if number % 2 else (second, first)
            posted = writer.post("/api/v1/statuses", data={"status": f"Number {number}"})
            assert posted.status_code == 200, posted.text
            timeline = reader.get("/api/v1/timelines/public?local=true").json()
            assert timeline[0]["id"] == posted.json()["id"]
            assert reader.get(f"/api/v1/statuses/{timeline[0]['id']}").status_code == 200


def test_commands_ask_the_first_process_that_runs(shared: Server) -> None:
    shown = shared.troupe("tree")
    assert (shown.returncode, shown.stderr) == (0, "Node main-1 answers; --node chooses another one.\n")
    assert shared.troupe("tree", "--node", "main-2").stderr == ""
    assert "it runs as node main-1, and answers" in shared.troupe("doctor").stdout
    assert shared.troupe("tree", "--node", "main-3").returncode == 1


def test_secrets_are_in_no_list_of_processes(shared: Server) -> None:
    shown = [Path(f"/proc/{process}/cmdline").read_text() for process in processes_of(shared.data)]
    shown += [Path(f"/proc/{broker_of(shared)}/cmdline").read_text()]
    assert not [line for line in shown if "nats://" in line or "password" in line]


def test_they_share_a_unix_socket_and_a_log_file_and_stop_in_order(own_server: Server, tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    own_server.settings |= {"TROUPE_SOCKET": str(path), "TROUPE_LOG_TO": "file", "TROUPE_LOG_FORMAT": "json"}
    with of_two(own_server):
        transport = httpx.HTTPTransport(uds=str(path), verify=plain_http.NO_AUTHORITY)
        with plain_http.client(transport=transport, base_url="http://localhost") as client:
            assert client.get("/health").status_code == 200
    assert not path.exists()
    assert not [*own_server.data.glob("control-*"), *own_server.data.glob("running-main-*")]
    assert own_server.log.count("Troupe is at ") == 1
    lines = (own_server.data / "troupe.log").read_text().splitlines()
    written = [(record["event"], record.get("node")) for record in map(json.loads, lines)]
    assert "process.ended" not in {event for event, _ in written}
    for name in NAMES:
        assert written.count(("server.listening", name)) == 1
        assert written.count(("shutdown.done", name)) == 1
    assert written[-1] == ("shutdown.done", None)


# Deaths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_connection_is_refused_while_a_process_restarts(several: Server, number: signal.Signals) -> None:
    before = node(several, "main-2")
    with Asking(several.port) as asking:
        os.kill(before, number)
        until(lambda: len(records(several, "server.listening", "main-2")) == 2)
    refused = [error for error in asking.errors if not isinstance(error, ConnectionResetError)]
    assert refused == []
    if number == signal.SIGTERM:
        assert asking.errors == []
    assert set(asking.answers) <= {b"HTTP/1.1 200", b""}
    (ended,) = several.events("process.ended")
    assert ended["child"] == "main-2"
    assert ended["decision"] == "start it again"
    (ada,) = several.people("ada")
    with client_of(several, "main-2", ada) as client:
        assert client.post("/api/v1/statuses", data={"status": "Back"}).status_code == 200


def test_the_broker_comes_back_and_everything_with_it(several: Server) -> None:
    (ada,) = several.people("ada")
    killed = broker_of(several)
    os.kill(killed, signal.SIGKILL)
    broker_of(several, before=killed)
    for name in NAMES:
        with client_of(several, name, ada) as client:
            until(lambda: client.post("/api/v1/statuses", data={"status": "On"}).status_code == 200)
            until(lambda: client.get("/api/v1/timelines/home").status_code == 200)


def test_nothing_outlives_a_parent_that_is_killed(several: Server) -> None:
    broker, processes = broker_of(several), [node(several, name) for name in NAMES]
    several.kill()
    until(lambda: not any(map(runs, [broker, *processes])))
    until_gone(several.data)  # PostgreSQL too
    until(lambda: is_free(several.port))
    several.start()
    assert several.troupe("tree").returncode == 0


def test_a_process_that_dies_again_and_again_ends_the_server(several: Server) -> None:
    for death in range(6):
        until(lambda: len(processes_of(several.data, "--node main-2")) == 1)
        os.kill(node(several, "main-2"), signal.SIGKILL)
        until(lambda: len(several.events("process.ended")) > death)  # noqa: B023
    assert several.wait() == CODE_WHEN_GIVEN_UP
    assert "troupe: main-2 has ended 6 times within 60 s, at last with SIGKILL" in several.log
    assert len(records(several, "shutdown.done", "main-1")) == 1


# Signals ---------------------------------------------------------------------------------------------------------


def test_ctrl_c_reaches_the_parent_alone(own_server: Server) -> None:
    with a_terminal(own_server), of_two(own_server):
        group = own_server.pid
        assert os.getpgid(group) == group
        os.killpg(group, signal.SIGINT)
        assert own_server.wait() == 0
    assert [record["decision"] for record in records(own_server, "shutdown.begun", None)] == ["SIGINT"]
    for name in NAMES:
        assert [record["decision"] for record in records(own_server, "shutdown.begun", name)] == ["SIGTERM"]
        assert len(records(own_server, "shutdown.done", name)) == 1
    assert not own_server.events("shutdown.hurried")


def test_a_second_signal_ends_the_grace_of_all(own_server: Server) -> None:
    own_server.settings["TROUPE_SHUTDOWN_GRACE"] = "300"
    with of_two(own_server):
        upload = b"POST /api/v1/statuses HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nstat"
        processes = {name: node(own_server, name) for name in NAMES}
        with socket.create_connection(("127.0.0.1", own_server.port)) as slow:
            slow.sendall(upload)  # and no more: a request that runs
            holder = process_at(own_server.port, slow.getsockname()[1], processes)
            own_server.send(signal.SIGTERM)
            until(lambda: len(own_server.events("shutdown.begun")) == 3)
            time.sleep(2 * ECHO_SECONDS)
            own_server.send(signal.SIGTERM)
            assert own_server.wait() == 0
    assert len(records(own_server, "shutdown.hurried", None)) == 1
    assert len(records(own_server, "shutdown.hurried", holder)) == 1


# systemd ---------------------------------------------------------------------------------------------------------


def test_systemd_hears_of_the_parent_alone_and_a_frozen_process_is_replaced(own_server: Server, tmp_path: Path) -> None:
    said: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        own_server.settings |= {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "6000000"}

        def listen() -> None:
            while "STOPPING=1" not in said:
                said.extend(manager.recv(4096).decode().split("\n"))
                if "READY=1" in said:
                    answering.append(len([*own_server.data.glob("control-main-?.sock")]))

        answering: list[int] = []
        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        with of_two(own_server):
            os.kill(node(own_server, "main-1"), signal.SIGSTOP)
            until(lambda: len(records(own_server, "server.listening", "main-1")) >= 2)
        listener.join(PATIENCE)
    assert [line for line in said if line != "WATCHDOG=1"] == ["READY=1", "STOPPING=1"]
    assert answering[0] == 2, "all processes run when systemd hears that the server is ready"


# Refusals --------------------------------------------------------------------------------------------------------


def test_a_second_parent_on_the_same_data_is_refused(shared: Server) -> None:
    refused = shared.troupe("serve", "--port", str(free_port()), "--processes", "2")
    assert refused.returncode == 1
    assert refused.stderr == (
        f"troupe: another server with several processes runs on {shared.data} as node main: stop it first\n"
    )
    assert shared.troupe("tree").returncode == 0


def test_what_the_first_process_refuses_is_said_once(own_server: Server) -> None:
    own_server.start()
    refused = own_server.troupe("serve", "--port", str(free_port()), "--processes", "2")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "runs on this database" in refused.stderr
    assert own_server.stop() == 0


def test_a_takeover_is_refused(own_server: Server) -> None:
    refused = own_server.troupe("serve", "--processes", "2", "--takeover")
    assert refused.returncode == 2
    assert refused.stderr.startswith("troupe: takeover is for a server of one process")
    assert own_server.troupe("serve", "--processes", "63").returncode == 2

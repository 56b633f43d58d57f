"""What the server tells systemd, and the unit that is written for it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .proxies import operations
from .server import STOP, Server

PATIENCE = 60
WATCHDOG = 0.6  # seconds
MANY = 20
# The exposure that `systemd-analyze security` reckons: in tenths, from 0 to 100.
MOST_EXPOSED = 22


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket on which systemd hears of services."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(PATIENCE)
        yield listening


def told(manager: socket.socket, until: str) -> list[str]:
    """Return what was told up to a line."""
    lines: list[str] = []
    while until not in lines:
        lines += manager.recv(4096).decode().split("\n")
    return lines


def falls_silent(manager: socket.socket) -> bool:
    """True as soon as nothing was told for the time in which a server must say something."""
    manager.settimeout(WATCHDOG)
    for _ in range(MANY):
        try:
            manager.recv(4096)
        except TimeoutError:
            return True
    return False


def test_systemd_is_told_of_start_life_and_end(own_server: Server, manager: socket.socket) -> None:
    own_server.settings |= {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": str(int(WATCHDOG * 1e6))}
    own_server.start()
    assert {*told(manager, "READY=1")} <= {"READY=1", "WATCHDOG=1"}
    began = time.monotonic()
    assert [told(manager, "WATCHDOG=1") for _ in range(6)] == [["WATCHDOG=1"]] * 6
    assert time.monotonic() - began < 6 * WATCHDOG, "twice as often as it must"
    own_server.send(signal.SIGTERM)
    assert {*told(manager, "STOPPING=1")} <= {"STOPPING=1", "WATCHDOG=1"}
    assert own_server.wait() == 0


def test_a_server_whose_loop_hangs_says_nothing_more(own_server: Server, manager: socket.socket) -> None:
    own_server.settings |= {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": str(int(WATCHDOG * 1e6))}
    own_server.start()
    told(manager, "READY=1")
    process = own_server.send(signal.SIGSTOP)
    assert falls_silent(manager)
    os.kill(process, signal.SIGCONT)
    manager.settimeout(PATIENCE)
    told(manager, "WATCHDOG=1")
    assert own_server.stop() == 0


def test_without_a_watchdog_nothing_is_repeated(own_server: Server, manager: socket.socket) -> None:
    """Nor for a process that systemd does not mean."""
    own_server.settings |= {
        "NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1",
    }  # fmt: skip
    own_server.start()
    assert told(manager, "READY=1") == ["READY=1"]
    assert own_server.stop() == 0
    assert told(manager, "STOPPING=1") == ["STOPPING=1"]


def test_a_manager_that_is_gone_stops_no_server(own_server: Server, tmp_path: Path) -> None:
    own_server.settings |= {"NOTIFY_SOCKET": str(tmp_path / "gone"), "WATCHDOG_USEC": "100000"}
    own_server.start()
    assert own_server.stop() == 0


# The unit ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A folder with the units. The program that they start is one that is there."""
    for name in ("troupe.service", "troupe.socket"):
        (tmp_path / name).write_text(operations(name).replace("/opt/troupe/bin/troupe", "/bin/true"))
    return tmp_path


def analyzed(*words: str) -> str:
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=STOP, check=False)
    return f"{done.stdout}{done.stderr}"


@pytest.mark.parametrize("name", ["troupe.service", "troupe.socket"])
def test_systemd_understands_the_unit(units: Path, name: str) -> None:
    said = analyzed("verify", "--man=no", str(units / name))
    assert [line for line in said.splitlines() if "troupe" in line] == []


def test_the_service_is_confined(units: Path) -> None:
    said = analyzed("security", "--offline=true", str(units / "troupe.service"))
    found = re.search(r"Overall exposure level for troupe.service: (\d+)\.(\d)", said)
    assert found is not None, said
    assert int(found[1] + found[2]) <= MOST_EXPOSED, said

"""The log's reader stays away: an unread pipe, or a terminal stopped with Ctrl-S."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from .. import plain_http
from ..pipes import full_pipe
from .forked import ForkedProcess
from .server import START, STOP, Server


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A full pipe. `unread` closes its writing end once the server has it."""
    reading, writing = full_pipe()
    yield reading, writing
    os.close(reading)


@pytest.fixture
def unread(own_server: Server, pipe: tuple[int, int]) -> Iterator[ForkedProcess]:
    """A server that answers, whose standard output and standard error are a pipe that takes no more."""
    words = ("serve", "--data", str(own_server.data), "--port", str(own_server.port))
    with open(os.devnull, "rb") as nothing:
        process = ForkedProcess(
            words, cwd=own_server.data.parent, env=own_server.environment(),
            stdin=nothing.fileno(), stdout=pipe[1], stderr=pipe[1],
        )  # fmt: skip
    os.close(pipe[1])
    try:
        transport = httpx.HTTPTransport(verify=plain_http.NO_AUTHORITY, retries=0)
        with plain_http.client(base_url=own_server.url, transport=transport) as client:
            wait_until_it_answers(client, process)
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until_it_answers(client: httpx.Client, process: ForkedProcess) -> None:
    pause = threading.Event()
    for _ in range(START * 50):
        try:
            assert client.get("/health").status_code == 200
        except httpx.TransportError:
            assert process.poll() is None
            pause.wait(0.02)
        else:
            return
    raise AssertionError("the server does not answer")


def test_a_server_whose_log_is_not_read_answers_and_stops(unread: ForkedProcess) -> None:
    unread.send_signal(signal.SIGTERM)
    assert unread.wait(STOP) == 0


def test_records_that_waited_for_the_reader_are_written_when_it_is_back(
    unread: ForkedProcess, pipe: tuple[int, int]
) -> None:
    lines: list[bytes] = []
    with os.fdopen(os.dup(pipe[0]), "rb") as file:
        reader = threading.Thread(target=lambda: lines.extend(file))
        reader.start()
        unread.send_signal(signal.SIGTERM)
        assert unread.wait(STOP) == 0
        reader.join(STOP)
    text = b"".join(lines).decode()
    assert '"server.listening"' in text
    assert '"shutdown.done"' in text.splitlines()[-1]


def test_the_level_and_the_file_of_a_running_servers_log(own_server: Server) -> None:
    """The level changes while the server runs and holds after a restart; the file is found again after a move."""
    own_server.settings |= {"TROUPE_LOG_TO": "file"}
    own_server.listening = "Troupe is at "  # on standard error, because the record is in the file
    path = own_server.data / "troupe.log"
    own_server.start()
    until(lambda: events(path)[-1:] == ["server.listening"])
    path.rename(own_server.data / "moved.log")
    own_server.troupe("settings", "set", "log_level", "error")
    until(lambda: level(own_server) == "error")
    own_server.stop()
    assert not path.exists(), "a stop in order has nothing grave to tell"
    own_server.start()
    assert level(own_server) == "error"
    assert "server.listening" not in path.read_text(), "once the database is there, the level is known"
    own_server.troupe("settings", "reset", "log_level")
    until(lambda: level(own_server) == "info")
    own_server.stop()
    assert events(path)[-1] == "shutdown.done"


def events(path: Path) -> list[str]:
    return [json.loads(line)["event"] for line in path.read_text().splitlines()]


def level(server: Server) -> str:
    tree = json.loads(server.troupe("tree", "--json").stdout)
    return next(child["level"] for child in tree["children"] if child["name"] == "log")


def until(condition: Callable[[], bool]) -> None:
    """Look until it holds, for a while."""
    give_up_at = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.05)

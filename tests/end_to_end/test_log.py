"""The log's reader stays away: an unread pipe, or a terminal stopped with Ctrl-S."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import httpx
import pytest

from ..pipes import full_pipe
from .server import START, STOP, TROUPE, Server


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A full pipe. `unread` closes its writing end once the server has it."""
    reading, writing = full_pipe()
    yield reading, writing
    os.close(reading)


@pytest.fixture
def unread(own_server: Server, pipe: tuple[int, int]) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers, whose standard output and standard error are a pipe that takes no more."""
    command = (*TROUPE, "serve", "--data", str(own_server.data), "--port", str(own_server.port))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe[1], stderr=pipe[1])
    os.close(pipe[1])
    try:
        transport = httpx.HTTPTransport(retries=0)
        with httpx.Client(base_url=own_server.url, trust_env=False, transport=transport) as client:
            wait_until_it_answers(client, process)
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until_it_answers(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    pause = threading.Event()
    for _ in range(START * 10):
        try:
            assert client.get("/health").status_code == 200
        except httpx.TransportError:
            assert process.poll() is None
            pause.wait(0.1)
        else:
            return
    raise AssertionError("the server does not answer")


def test_a_server_whose_log_is_not_read_answers_and_stops(unread: subprocess.Popen[bytes]) -> None:
    unread.send_signal(signal.SIGTERM)
    assert unread.wait(STOP) == 0


def test_records_that_waited_for_the_reader_are_written_when_it_is_back(
    unread: subprocess.Popen[bytes], pipe: tuple[int, int]
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

"""Threads, sockets and subprocesses in a scenario."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from troupe.supervision.testing import NotSimulated, Run, bare, simulation
from troupe.supervision.testing.series import Series


@simulation(seeds=20)
async def test_a_function_for_a_thread_is_one_atomic_step(run: Run) -> None:
    events: list[str] = []

    def work() -> threading.Thread:
        events.append("begins")
        time.sleep(0.0001)
        events.append("ends")
        return threading.current_thread()

    async def other() -> None:
        for _ in range(3):
            events.append("other")
            await trio.lowlevel.checkpoint()

    async def hash_in_a_thread() -> None:
        assert await trio.to_thread.run_sync(work) is threading.main_thread()

    async with run.together() as go:
        go(hash_in_a_thread)
        go(other)
    assert events[events.index("begins") + 1] == "ends"
    run.sometimes(events[0] == "other", "the other is first")
    run.sometimes(events[0] == "begins", "the thread is first")


@simulation(seeds=2)
async def test_a_step_in_place_of_a_thread_obeys_its_limiter_and_raises(run: Run) -> None:
    limiter = trio.CapacityLimiter(1)
    async with limiter:
        with trio.move_on_after(1) as waiting:
            await trio.to_thread.run_sync(int, "7", limiter=limiter)
        assert waiting.cancelled_caught
    with pytest.raises(ValueError, match="invalid literal"):
        await trio.to_thread.run_sync(int, "seven", limiter=limiter)
    assert await trio.to_thread.run_sync(int, "7", limiter=limiter) == 7


@simulation(seeds=2)
async def test_files_can_be_read_asynchronously(run: Run, tmp_path: Path) -> None:
    await trio.Path(tmp_path / "x").write_text("hello")
    assert (tmp_path / "x").read_text() == "hello"


async def a_socket() -> None:
    trio.socket.socket()


async def a_connection() -> None:
    await trio.open_tcp_stream("127.0.0.1", 9)


async def a_wait_for_a_descriptor() -> None:
    await trio.lowlevel.wait_readable(sys.__stdin__.fileno() if sys.__stdin__ else 0)


async def a_process() -> None:
    await trio.run_process(["true"])


async def a_refusal_that_is_caught() -> None:
    try:
        trio.socket.socket()
    except Exception:
        await trio.sleep(1)


@pytest.mark.parametrize(
    ("use", "instead"),
    [
        (a_socket, "memory_stream_pair"),
        (a_connection, "memory_stream_pair"),
        (a_wait_for_a_descriptor, "memory_stream_pair"),
        (a_process, "a function in place of the program"),
        (a_refusal_that_is_caught, "memory_stream_pair"),
    ],
)
def test_what_can_not_be_simulated_says_what_to_use_instead(use: Callable[[], Awaitable[None]], instead: str) -> None:
    async def scenario(run: Run) -> None:
        await use()

    failure = Series(scenario, bare).play_all([1], ["random"])
    assert failure is not None
    assert isinstance(failure.first.error, NotSimulated)
    assert instead in str(failure.first.error)


async def test_outside_of_a_run_everything_works_as_before() -> None:
    assert await trio.to_thread.run_sync(threading.current_thread) is not threading.main_thread()
    assert (await trio.run_process(["true"])).returncode == 0
    trio.socket.socket().close()


SANDBOX = """
import sys, threading
from troupe.supervision.testing.stage import sandbox
sandbox()
print('ready', flush=True)
threading.Event().wait(60)
"""


def test_a_process_that_is_told_to_end_leaves_no_database_behind(data: Path) -> None:
    environment = {"TMPDIR": str(data), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen([sys.executable, "-c", SANDBOX], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"ready" in process.stdout.readline()
        assert list(data.glob("troupe-simulation-*"))
        process.terminate()
        process.wait(30)
    assert list(data.iterdir()) == []

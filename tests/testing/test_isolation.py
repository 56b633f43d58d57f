"""Threads, sockets and subprocesses in a scenario."""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

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
        assert await trio.to_thread.run_sync(work) is not threading.main_thread()

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


async def a_thread_that_waits_for_a_task() -> None:
    values = queue.Queue[int]()

    async def put() -> None:
        values.put(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, values.get)
        nursery.start_soon(put)


async def a_worker_that_calls_back() -> None:
    await trio.to_thread.run_sync(trio.from_thread.run_sync, trio.current_time)


async def a_worker_that_calls_back_and_hides_the_refusal() -> None:
    def call_back() -> None:
        with suppress(Exception):
            trio.from_thread.run(trio.sleep, 1)

    await trio.to_thread.run_sync(call_back)


async def an_own_thread_that_is_waited_for() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait, args=[60], name="the downloads", daemon=True)
    thread.start()
    try:
        await trio.Event().wait()
    finally:
        ended.set()
        thread.join()


async def an_own_thread_that_calls_in() -> None:
    token, called = trio.lowlevel.current_trio_token(), trio.Event()

    def call_in() -> None:
        with suppress(NotSimulated):
            token.run_sync_soon(called.set)

    thread = threading.Thread(target=call_in)
    thread.start()
    thread.join()
    await called.wait()


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (a_thread_that_waits_for_a_task, r"has waited for 0\.3 s at queue\.py:\d+ in get.*open_memory_channel"),
        (a_worker_that_calls_back, "called back into Trio.*Return a value"),
        (a_worker_that_calls_back_and_hides_the_refusal, "called back into Trio"),
        (an_own_thread_that_is_waited_for, r"threads of its own \(the downloads\).*trio\.to_thread\.run_sync"),
        (an_own_thread_that_calls_in, "called back into Trio.*start no threads"),
    ],
)
def test_a_thread_that_takes_part_in_the_schedule_is_refused_in_words(
    use: Callable[[], Awaitable[None]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(run: Run) -> None:
        await use()

    monkeypatch.setattr("troupe.supervision.testing.isolation.LONGEST_WAIT", 0.3)
    failure = Series(scenario, bare).play_pinned([(1, "calm")])
    assert failure is not None
    assert isinstance(failure.first.error, NotSimulated)
    assert re.search(said, str(failure.first.error), re.DOTALL)


@simulation(seeds=1)
async def test_a_function_that_works_for_long_is_not_taken_for_one_that_waits(run: Run) -> None:
    def work() -> int:
        until = time.thread_time() + 4 * pause
        return sum(1 for _ in iter(lambda: time.thread_time() < until, False))

    pause = 0.1
    with patch("troupe.supervision.testing.isolation.LONGEST_WAIT", pause):
        assert await trio.to_thread.run_sync(work) > 0


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

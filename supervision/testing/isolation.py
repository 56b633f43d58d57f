"""Isolation of a simulated run from real time and other processes.

A function for a worker thread (`trio.to_thread.run_sync`) is an atomic step: the loop waits for the thread. Sockets,
subprocesses, calls from threads back into Trio, and functions that wait for another task are refused with a message
that names a replacement: their answers would come from outside the schedule, and no run could be replayed.
`tests/testing/test_trio_hooks.py` checks Trio for the names that are replaced here.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest.mock import patch

import trio

from .scheduler import Deadlock, Scheduler, frame_place, is_ours, run_loop

SOCKETS = (
    "a simulated run has no sockets: their answers come from outside its schedule. "
    "Use trio.testing.memory_stream_pair(), or ask the actors and the simulated API directly"
)
PROCESSES = (
    "a simulated run has no subprocesses: they live in real time. "
    "Give the code a function in place of the program, and test the program in a test of its own"
)


CALLS_BACK = (
    "a thread called back into Trio (trio.from_thread, or a TrioToken): when it does so is decided outside of the "
    "schedule. Return a value from the function of trio.to_thread.run_sync, and let its task do the rest; start no "
    "threads of your own"
)
WAITS = (
    "a function in a worker thread has waited for {seconds:g} s at {place}. In a simulated run such a function is one "
    "step, in which no task goes on: if it waits for one, it waits forever. Let tasks pass values by "
    "trio.open_memory_channel()"
)
OWN_THREADS = (
    "all tasks wait: {waiting}. The program has started threads of its own ({threads}), which run outside of the "
    "schedule: a task that waits for one can't be replayed. Use trio.to_thread.run_sync, which is one step"
)

# Seconds of real time in which a worker thread may wait without using the processor. A slow disk needs less.
LONGEST_WAIT = 5.0
LOOKS = 10  # at a waiting thread, in that time
# A thread that uses the CPU for less than this share of the time waits. A working thread gets more, even on a busy
# machine.
WORKING = 0.01
STANDARD_LIBRARY = threading.__file__.rpartition("/")[0] + "/"


class NotSimulated(Exception):
    """Raised when the scenario used something that can't be simulated. The text says what to use instead."""


@contextmanager
def isolated(scheduler: Scheduler) -> Generator[None]:
    """Run functions for threads as atomic steps in this block. End the run if it uses what can't be simulated."""

    def refuse(text: str) -> NoReturn:
        error = NotSimulated(text)
        scheduler.fail(error)  # the code under test may catch the error that is raised here
        raise error

    def refusing(text: str) -> Callable[..., NoReturn]:
        return lambda *_, **__: refuse(text)

    inside: Any = trio
    poller = run_loop.TheIOManager
    threads = WorkerThreads(scheduler, inside._threads.start_thread_soon)
    scheduler.explain_deadlock = threads.explain_deadlock
    no_processes = SimpleNamespace(**{**vars(subprocess), "Popen": refusing(PROCESSES)})
    with ExitStack() as stack:
        for target, name, replacement in (
            (inside._threads, "start_thread_soon", threads.run_in_step),
            (trio.lowlevel.TrioToken, "run_sync_soon", threads.loop_only(trio.lowlevel.TrioToken.run_sync_soon)),
            (inside._subprocess, "subprocess", no_processes),  # of Trio's module alone: PostgreSQL is started in a run
            (inside._socket._SocketType, "__init__", refusing(SOCKETS)),
            (poller, "wait_readable", _guarded(poller.wait_readable, refuse)),
            (poller, "wait_writable", _guarded(poller.wait_writable, refuse)),
        ):
            stack.enter_context(patch.object(target, name, replacement))
        yield


class WorkerThreads:
    """Worker threads as steps of a run, and the refusal of every other thread that takes part in it."""

    def __init__(self, scheduler: Scheduler, start: Callable[..., None]) -> None:
        self._scheduler = scheduler
        self._start = start  # takes a thread of Trio's cache
        self._loop = threading.current_thread()
        self._known = {*threading.enumerate()}  # threads from before the run, and threads that have executed a step

    def run_in_step(
        self, work: Callable[[], object], deliver: Callable[[Any], object], name: str | None = None
    ) -> None:
        """Execute the function in a thread, while the loop waits: a single step of the calling task."""
        inside: Any = trio
        done = threading.Event()
        results: list[Any] = []
        workers: list[threading.Thread] = []

        def recorded() -> object:
            workers.append(threading.current_thread())
            return work()

        def finished(result: object) -> None:
            results.append(result)
            done.set()

        self._start(recorded, finished, name)
        self._wait(done, workers)
        self._known.update(workers)
        if not results:
            error = NotSimulated(WAITS.format(seconds=LONGEST_WAIT, place=_place_of(workers[0])))
            self._scheduler.fail(error)
            results.append(inside._threads.outcome.Error(error))
        deliver(results[0])

    def loop_only(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Refuse a call into Trio in all threads but the loop's."""

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is self._loop:
                return function(*args, **kwargs)
            error = NotSimulated(CALLS_BACK)
            self._scheduler.refusals.append(error)  # only the loop's thread may end the run
            raise error

        return guarded

    def explain_deadlock(self, waiting: str) -> BaseException:
        """Return the error of a run in which all tasks wait."""
        own = sorted(thread.name for thread in threading.enumerate() if thread not in self._known)
        return NotSimulated(OWN_THREADS.format(waiting=waiting, threads=", ".join(own))) if own else Deadlock(waiting)

    def _wait(self, done: threading.Event, workers: list[threading.Thread]) -> None:
        """Wait for a worker, unless it has not worked for the longest time that it may wait."""
        pause = LONGEST_WAIT / LOOKS
        idle = 0
        used = 0.0
        while idle < LOOKS and not done.wait(pause):
            if workers:  # it has begun
                now = _cpu_seconds(workers[0])
                idle = idle + 1 if now - used < pause * WORKING else 0
                used = now


def _cpu_seconds(thread: threading.Thread) -> float:
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))


def _place_of(thread: threading.Thread) -> str:
    """Return the line where a thread waits: in the program, or where the program has called the standard library."""
    frame = sys._current_frames().get(thread.ident or 0)  # pyright: ignore[reportPrivateUsage]  # documented
    place = "its end"
    while frame is not None and "/trio/" not in frame.f_code.co_filename:
        place = frame_place(frame.f_code, frame.f_lineno)
        if not frame.f_code.co_filename.startswith(STANDARD_LIBRARY):
            break
        frame = frame.f_back
    return place


def _guarded(wait: Callable[..., Any], refuse: Callable[[str], NoReturn]) -> Callable[..., Any]:
    """Wait for a descriptor, for Trio's own tasks alone, such as the task that wakes the loop."""

    @functools.wraps(wait)
    async def guarded(*args: object) -> None:
        if is_ours(trio.lowlevel.current_task()):
            refuse(SOCKETS)
        await wait(*args)

    return guarded

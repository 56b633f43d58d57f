"""Keeps a simulated run away from everything that real time and other processes decide.

A function for a worker thread (`trio.to_thread.run_sync`) runs as one atomic step instead. Sockets and subprocesses are
refused with a message that says what to use in their place: their answers would come from outside the schedule, and no
run could be replayed. `tests/testing/test_trio_hooks.py` holds Trio to what is replaced here.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest.mock import patch

import trio

from .scheduler import is_ours, run_loop

SOCKETS = (
    "a simulated run has no sockets: their answers come from outside its schedule. "
    "Use trio.testing.memory_stream_pair(), or ask the actors and the simulated API directly"
)
PROCESSES = (
    "a simulated run has no subprocesses: they live in real time. "
    "Give the code a function in place of the program, and test the program in a test of its own"
)


class NotSimulated(Exception):
    """The scenario used something that has no place in a simulated run; the text says what to use instead."""


@contextmanager
def isolated(fail: Callable[[BaseException], None]) -> Generator[None]:
    """Inside, threads are atomic steps, and sockets and subprocesses end the run through `fail` and raise."""

    def refuse(text: str) -> NoReturn:
        error = NotSimulated(text)
        fail(error)  # the code under test may catch what is raised here
        raise error

    def refusing(text: str) -> Callable[..., NoReturn]:
        return lambda *_, **__: refuse(text)

    inside: Any = trio
    poller = run_loop.TheIOManager
    no_processes = SimpleNamespace(**{**vars(subprocess), "Popen": refusing(PROCESSES)})
    with ExitStack() as stack:
        for target, name, replacement in (
            (inside._threads, "start_thread_soon", run_in_step),
            (inside._subprocess, "subprocess", no_processes),  # of Trio's module alone: PostgreSQL is started in a run
            (inside._socket._SocketType, "__init__", refusing(SOCKETS)),
            (poller, "wait_readable", _guarded(poller.wait_readable, refuse)),
            (poller, "wait_writable", _guarded(poller.wait_writable, refuse)),
        ):
            stack.enter_context(patch.object(target, name, replacement))
        yield


def run_in_step(work: Callable[[], object], deliver: Callable[[Any], object], name: str | None = None) -> None:
    """In place of starting a thread: the function runs here and now, as one step of the task that wants it."""
    inside: Any = trio
    deliver(inside._threads.outcome.capture(work))


def _guarded(wait: Callable[..., Any], refuse: Callable[[str], NoReturn]) -> Callable[..., Any]:
    """Waiting for a descriptor, for Trio's own tasks alone: one of them is how a loop is woken."""

    @functools.wraps(wait)
    async def guarded(*args: Any) -> None:
        if is_ours(trio.lowlevel.current_task()):
            refuse(SOCKETS)
        await wait(*args)

    return guarded

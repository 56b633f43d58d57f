"""Isolation of a simulated run from real time and other processes.

A function for a worker thread (`trio.to_thread.run_sync`) runs as one atomic step instead. Sockets and subprocesses are
refused with a message that names a replacement: their answers would come from outside the schedule, and no run could be
replayed. `tests/testing/test_trio_hooks.py` checks Trio for the names that are replaced here.
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
    """Raised when the scenario used something that can't be simulated. The text says what to use instead."""


@contextmanager
def isolated(fail: Callable[[BaseException], None]) -> Generator[None]:
    """Run threads as atomic steps in this block. Sockets and subprocesses end the run through `fail`, and raise."""

    def refuse(text: str) -> NoReturn:
        error = NotSimulated(text)
        fail(error)  # the code under test may catch the error that is raised here
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
    """Run the function now, as one step of the calling task, in place of a thread."""
    inside: Any = trio
    deliver(inside._threads.outcome.capture(work))


def _guarded(wait: Callable[..., Any], refuse: Callable[[str], NoReturn]) -> Callable[..., Any]:
    """Wait for a descriptor, for Trio's own tasks alone: one of them wakes the loop."""

    @functools.wraps(wait)
    async def guarded(*args: object) -> None:
        if is_ours(trio.lowlevel.current_task()):
            refuse(SOCKETS)
        await wait(*args)

    return guarded

"""The task that sends what is new to all streaming clients, one after the other.

A task switch costs more than a system call. So streams have no tasks of their own.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import Protocol

import trio

SLICE = 0.001  # seconds of sending between two checkpoints


class Sending(Protocol):
    """A stream that has news."""

    def send_now(self) -> None:
        """Send what the client takes at once. It raises no error."""
        ...


class Pump:
    """The queue of streams that have news."""

    def __init__(self) -> None:
        self._waiting: deque[Sending] = deque()
        self._sleeper: trio.lowlevel.Task | None = None
        self._runs = False

    def add(self, stream: Sending) -> None:
        """Have a stream send soon; at once while this does not run."""
        self._waiting.append(stream)
        if self._sleeper is not None:
            trio.lowlevel.reschedule(self._sleeper)
            self._sleeper = None
        elif not self._runs:
            self._send_all()

    async def run(self) -> None:
        """Send for ever."""
        self._runs = True
        try:
            while True:
                if self._waiting:
                    self._send_slice()
                    await trio.lowlevel.checkpoint()
                else:
                    self._sleeper = trio.lowlevel.current_task()
                    await trio.lowlevel.wait_task_rescheduled(self._stop_sleeping)
        finally:
            self._send_all()  # those that were added before are sent to the end

    def _send_all(self) -> None:
        self._runs = True  # so that streams that have more to send are added, and not begun again inside
        try:
            while self._waiting:
                self._waiting.popleft().send_now()
        finally:
            self._runs = False

    def _send_slice(self) -> None:
        waiting, end = self._waiting, perf_counter() + SLICE
        while waiting:
            waiting.popleft().send_now()
            if perf_counter() > end:
                return

    def _stop_sleeping(self, _: object) -> trio.lowlevel.Abort:
        self._sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED

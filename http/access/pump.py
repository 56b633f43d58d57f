"""The task that sends what is new to all streaming clients, one after the other.

A task switch costs more than a system call. So the sender of a stream is woken only when its client does not take
what it is sent at once; everything else is sent here.
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
        self.runs = False  # while it does not, senders are woken in its place

    def add(self, stream: Sending) -> None:
        self._waiting.append(stream)
        if self._sleeper is not None:
            trio.lowlevel.reschedule(self._sleeper)
            self._sleeper = None

    async def run(self) -> None:
        """Send for ever."""
        self.runs = True
        try:
            while True:
                if self._waiting:
                    self._send_slice()
                    await trio.lowlevel.checkpoint()
                else:
                    self._sleeper = trio.lowlevel.current_task()
                    await trio.lowlevel.wait_task_rescheduled(self._stop_sleeping)
        finally:
            self.runs = False
            while self._waiting:  # those that were added before are sent to the end
                self._waiting.popleft().send_now()

    def _send_slice(self) -> None:
        waiting, end = self._waiting, perf_counter() + SLICE
        while waiting:
            waiting.popleft().send_now()
            if perf_counter() > end:
                return

    def _stop_sleeping(self, _: object) -> trio.lowlevel.Abort:
        self._sleeper = None
        return trio.lowlevel.Abort.SUCCEEDED

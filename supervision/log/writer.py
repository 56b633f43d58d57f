"""Writing lines without waiting for their reader.

A terminal that was stopped with Ctrl-S, or a pipe that is not read, blocks a write. Here a thread of its own writes, so
that the event loop and the handling of signals go on.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from typing import Protocol

# About 4,000 records: a minute of a burst of failures, and little memory.
MOST_WAITING = 1024 * 1024
CLOSING_SECONDS = 1.0
STDERR = 2


def hold_standard_streams() -> None:
    """Open the null device in place of each standard stream that is closed.

    Otherwise a connection to the database could become descriptor 1, and the log would be written into it.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= STDERR:
        descriptor = os.dup(descriptor)
    os.close(descriptor)


def announce(text: str) -> None:
    """Write a line to standard error, and wait at most a second for its reader."""
    writer = Writer(LogStream(STDERR))
    writer.write(text + "\n")
    writer.close()


class Output(Protocol):
    """A place for lines: a stream, a file, the journal."""

    def write(self, line: bytes) -> None:
        """Write a line; may block. Raises OSError if it can't be written."""
        ...


class LogStream:
    """An open descriptor, such as standard output."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            try:
                left = left[os.write(self._descriptor, left) :]
            except BlockingIOError:
                # Another program on this terminal or pipe has made it non-blocking.
                select.select([], [self._descriptor], [])


class Writer:
    """A bounded queue of lines and the thread that writes them. Safe to use from any thread."""

    def __init__(self, output: Output, most_waiting: int = MOST_WAITING) -> None:
        self._output = output
        self._most_waiting = most_waiting
        self._lines: deque[bytes] = deque()
        self._waiting = 0  # bytes in `_lines`, and in the batch that is being written
        self._lost = 0
        self._closed = False
        self._changed = threading.Condition()
        # A daemon: the process can end while this thread is still blocked in a write.
        self._thread = threading.Thread(target=self._work, name="log writer", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Queue a line. Raises BlockingIOError when the queue is full; the line is then not written."""
        data = line.encode("utf-8", "backslashreplace")
        with self._changed:
            if self._closed or self._waiting + len(data) > self._most_waiting:
                raise BlockingIOError("the log's queue is full")
            self._lines.append(data)
            self._waiting += len(data)
            self._changed.notify_all()

    def take_lost(self) -> int:
        """Return the number of lines lost since the last call: the pipe was closed, or the disk was full."""
        with self._changed:
            lost, self._lost = self._lost, 0
            return lost

    def close(self, within: float = CLOSING_SECONDS) -> None:
        """Take no more lines, and wait at most `within` seconds until the queued lines are written."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(within)

    def _work(self) -> None:
        while lines := self._next_batch():
            failed = self._write_all(lines)
            with self._changed:
                self._waiting -= sum(map(len, lines))
                self._lost += failed
                self._changed.notify_all()

    def _next_batch(self) -> list[bytes]:
        """Return all waiting lines; none if the writer was closed and everything is written."""
        with self._changed:
            while not self._lines and not self._closed:
                self._changed.wait()
            lines = list(self._lines)
            self._lines.clear()
            return lines

    def _write_all(self, lines: list[bytes]) -> int:
        """Write the lines. Return the number of lines that could not be written."""
        for done, line in enumerate(lines):
            try:
                self._output.write(line)
            except OSError:
                return len(lines) - done
        return 0

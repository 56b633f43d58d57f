"""Keys that are pressed while a command shows something on the whole screen."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Generator
from contextlib import contextmanager

LOOK_EVERY = 0.2  # seconds, at the size of the terminal

# Waits for a key for so many seconds, and returns it; nothing if none came, or the size of the terminal changed.
Key = Callable[[float, Callable[[], object]], str]


@contextmanager
def keyboard() -> Generator[Key]:
    """Read single keys, which the terminal does not show. Ctrl-C interrupts as ever. Afterwards all is as before.

    Without a terminal to read from there are no keys, and only time passes.
    """
    if not sys.stdin.isatty():
        yield lambda seconds, _: time.sleep(seconds) or ""
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield lambda seconds, size: _key(descriptor, seconds, size)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _key(descriptor: int, seconds: float, size: Callable[[], object]) -> str:
    until, before = time.monotonic() + seconds, size()
    while (left := until - time.monotonic()) > 0 and size() == before:
        if select.select([descriptor], [], [], min(left, LOOK_EVERY))[0]:
            return os.read(descriptor, 1).decode("ascii", "replace") or "q"  # end of input: the terminal is gone
    return ""

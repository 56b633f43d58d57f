"""The signals that end the server: SIGTERM, SIGINT (Ctrl-C) and SIGHUP (its terminal was closed).

The first signal ends the server in order. The second also cancels running requests. The third ends the process at once;
the guardian then stops PostgreSQL.

SIGHUP has this meaning only for a server that was started in a terminal. Under systemd or in a container, programs send
it so that a server reads its settings or opens its log again. They don't expect it to end, so the server goes on.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import trio

from ..failures import FAILED

ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
MOST = 2

# make and some shells send a signal that the whole process group got before.
ECHO_SECONDS = 0.2


class Interrupted(BaseException):
    """Raised when the server was asked to end before its event loop ran."""


class EndSignals:
    """The signals so far, and the action of the next signal."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._acted_on = 0  # of the names
        self._last = -math.inf
        self._act: Callable[[str], None] | None = None
        self._pass_over: Callable[[], object] = _nothing
        self._has_terminal = has_terminal()

    @property
    def first(self) -> str:
        """The name of the first signal."""
        return self._names[0]

    @contextmanager
    def handled(self) -> Generator[None]:
        """Handle the signals in this block. Ignored signals stay ignored, as `nohup` requires."""
        numbers = [number for number in ASKING if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._note_signal) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def interrupting(self) -> Generator[None]:
        """Raise Interrupted in this block at the first signal."""

        def interrupt(name: str) -> None:
            self._act = None
            raise Interrupted(name)

        with self._acting(interrupt):
            yield

    @contextmanager
    def received(self, pass_over: Callable[[], object]) -> Generator[trio.MemoryReceiveChannel[str]]:
        """Receive the names of the signals, in Trio. A signal that came before this block is received too.

        `pass_over` is called for a SIGHUP that does not end the server.
        """
        send, receive = trio.open_memory_channel[str](MOST)
        token = trio.lowlevel.current_trio_token()
        self._pass_over = lambda: token.run_sync_soon(pass_over, idempotent=True)
        try:
            with self._acting(lambda name: token.run_sync_soon(send.send_nowait, name)):
                yield receive
        finally:
            self._pass_over = _nothing

    @contextmanager
    def _acting(self, act: Callable[[str], None]) -> Generator[None]:
        self._act = act
        try:
            self._act_on_all()
            yield
        finally:
            self._act = None

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        """Run by Python between two instructions of the main thread, so no lock may be taken here."""
        if number == signal.SIGHUP and not self._has_terminal:
            self._pass_over()
            return
        now = time.monotonic()
        if now - self._last < ECHO_SECONDS:
            return
        self._last = now
        self._names.append(signal.Signals(number).name)
        if len(self._names) > MOST:
            os._exit(FAILED)
        self._act_on_all()

    def _act_on_all(self) -> None:
        """Act on every signal that was counted.

        A signal is counted before its action, because another may come at any line.
        """
        while self._act is not None and self._acted_on < len(self._names):
            self._acted_on += 1
            self._act(self._names[self._acted_on - 1])


def has_terminal() -> bool:
    """True if a terminal controls this process, which then gets SIGHUP when the terminal is closed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _nothing() -> None:
    """Do nothing: no event loop runs that could handle the signal."""

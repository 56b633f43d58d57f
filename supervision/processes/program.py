"""A program that is started again when it ends, until it ends too often."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import trio

from ...actors.kernel import Record
from ..supervisor import GaveUp
from . import attached

# Seconds before a program is started again, after the first end within `WINDOW` seconds, the second, and so on. After
# more ends than these the parent gives up.
PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0)
WINDOW = 60.0
# Seconds in which the last lines of a program that has ended are read.
LAST_LINES = 1.0
# Longer lines of a program are cut. The longest record of the log, with a stack, has some 10,000 bytes.
LONGEST_LINE = 2**20


class NotStarted(Exception):
    """Raised when a program ended before it was ready for the first time. It has said why."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


@dataclass(frozen=True)
class Program:
    """A command with its environment.

    `take` gets each line of its output, without the line break. `listeners` are listening sockets, which it gets as
    systemd passes them, and `descriptors` others, which keep their numbers.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    take: Callable[[bytes], None]
    listeners: Sequence[int] = ()
    descriptors: Sequence[int] = ()
    #: True if its errors go to its output. Else they go to the standard error of this process.
    takes_errors: bool = False


@dataclass(eq=False)
class KeptProgram:
    """A program that runs until `end`, and is started again when it ends before."""

    program: Program
    record: Record
    #: Called once, when the program can't be kept running: with the reason.
    give_up: Callable[[Exception], None]
    #: Set when the program is ready for the first time.
    ready: trio.Event = field(default_factory=trio.Event)
    #: Set when it has ended and is not started again.
    ended: trio.Event = field(default_factory=trio.Event)
    #: When it was last heard of (Trio's clock), if it reports.
    heard: float | None = None
    #: True if it was started at least once.
    has_begun: bool = False
    _process: subprocess.Popen[bytes] | None = None
    _ending: trio.Event = field(default_factory=trio.Event)
    _ends: deque[float] = field(default_factory=deque[float])

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def pid(self) -> int | None:
        """The number of its process. None while there is none."""
        return self._process.pid if self._process else None

    async def keep(self) -> None:
        """Run the program until `end` is called. Not to be cancelled."""
        self.has_begun = True
        try:
            while not self._ending.is_set():
                code = await self._run()
                if self._ending.is_set():
                    return
                pause = self._pause_after(code)
                with trio.move_on_after(pause):
                    await self._ending.wait()
        except (NotStarted, GaveUp, OSError) as error:
            self.give_up(error)
        finally:
            self.ended.set()

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal that ends the program, which is not started again."""
        self._ending.set()
        self.send(number)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self._process is not None:
            self._process.send_signal(number)

    async def _run(self) -> int:
        """Start the program, and return its exit code: minus the number of the signal, if a signal ended it."""
        program, self.heard = self.program, None
        output, written = os.pipe()
        passed = ",".join(map(str, program.listeners))
        try:
            # From this thread, which lives as long as the process: the kernel ends the program when its thread ends.
            # Trio would start it from another one.
            self._process = process = subprocess.Popen(  # noqa: ASYNC220, S603 - a millisecond; of this installation
                [sys.executable, "-I", "-S", attached.__file__, str(os.getpid()), passed, *program.command],
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written if program.takes_errors else None,
                env=program.environment,
                pass_fds=[*program.listeners, *program.descriptors],
                start_new_session=True,
            )
        finally:
            os.close(written)
        try:
            async with trio.lowlevel.FdStream(output) as lines, trio.open_nursery() as nursery:
                nursery.start_soon(self._read, lines)
                await _ended(process.pid)
                # Another process may have its output.
                nursery.cancel_scope.deadline = trio.current_time() + LAST_LINES
            return process.wait()  # at once
        finally:
            self._process = None

    async def _read(self, output: trio.lowlevel.FdStream) -> None:
        """Take the lines of its output, until every process that writes there is gone."""
        rest = b""
        async for data in output:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.program.take(line)
            if len(rest) > LONGEST_LINE:
                self.program.take(rest)
                rest = b""

    def _pause_after(self, code: int) -> float:
        """Return the seconds until it is started again. Raises NotStarted and GaveUp."""
        how = _described(code)
        if not self.ready.is_set():
            if code > 0:
                raise NotStarted(code)
            raise GaveUp(f"{self.name} has ended before it was ready ({how})")
        if code == 0:
            self.record("process.ended", child=self.name, error=how, decision="start it again")
            return 0.0
        now = trio.current_time()
        self._ends.append(now)
        while self._ends[0] < now - WINDOW:
            self._ends.popleft()
        if len(self._ends) > len(PAUSES):
            self.record("process.ended", child=self.name, error=how, decision="stop the server")
            raise GaveUp(f"{self.name} has ended {len(self._ends)} times within {WINDOW:g} s, at last with {how}")
        pause = PAUSES[len(self._ends) - 1]
        when = f" in {pause:g} s" if pause else ""
        self.record("process.ended", child=self.name, error=how, decision=f"start it again{when}")
        return pause


def _described(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


async def _ended(pid: int) -> None:
    """Wait until a process has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)

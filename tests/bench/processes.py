"""The processes that are measured: their CPU and their memory, as the kernel counts them."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .machine import PROC, TICKS, busy


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of CPU."""

    server: float
    postgres: float
    bench: float  # this process, and wrk

    def __sub__(self, other: Used) -> Used:
        return Used(self.server - other.server, self.postgres - other.postgres, self.bench - other.bench)

    @property
    def together(self) -> float:
        return self.server + self.postgres + self.bench


@dataclass(frozen=True, slots=True)
class Processes:
    """The server's process, or 0 before it is started, and PostgreSQL's first one."""

    server: int
    postgres: int

    def used(self) -> Used:
        """Until now. Of PostgreSQL's processes those that are gone count too: their parent has inherited their time."""
        postgres = sum(map(_clock, self._family())) + sum(map(int, _fields(self.postgres)[13:15])) / TICKS
        ours = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return Used(_clock(self.server), postgres, sum(one.ru_utime + one.ru_stime for one in ours))

    def memory(self) -> float:
        """MiB of the server that are in memory (RSS)."""
        return _kib(self.server, "status", "VmRSS:") / 1024

    def shares(self) -> tuple[float, float]:
        """MiB of the server and of PostgreSQL (PSS): pages that processes share count in parts for each of them."""
        return _kib(self.server, "smaps_rollup", "Pss:") / 1024, sum(
            _kib(pid, "smaps_rollup", "Pss:") / 1024 for pid in self._family()
        )

    def _family(self) -> list[int]:
        return [self.postgres, *_children(self.postgres)]


class Watch:
    """What was used since it was made: by the processes that are measured, and by all others."""

    def __init__(self, processes: Processes) -> None:
        self._used = processes.used()
        self._busy, self._cores = busy()
        self._began = time.perf_counter()

    def since(self, processes: Processes) -> tuple[Used, float]:
        """Return the CPU that the processes have used, and the share of all cores that others have used."""
        used, seconds = processes.used() - self._used, time.perf_counter() - self._began
        others = busy()[0] - self._busy - used.together
        return used, max(0.0, others / (seconds * self._cores))


def _clock(pid: int) -> float:
    """Seconds of CPU of a process, with all its threads. The clock is exact; /proc counts hundredths of a second."""
    if pid == 0:  # for the kernel this process
        return 0.0
    try:
        return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid() makes it of the number
    except OSError:  # it has ended
        return 0.0


def _kib(pid: int, file: str, label: str) -> int:
    try:
        lines = (PROC / str(pid) / file).read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(label)), 0)


def _fields(pid: int) -> list[str]:
    # The command stands in brackets and may have spaces in it.
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _children(parent: int) -> Iterator[int]:
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                if int(_fields(int(entry.name))[1]) == parent:
                    yield int(entry.name)
            except (FileNotFoundError, ProcessLookupError):
                continue

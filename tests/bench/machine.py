"""What processes have used, as the kernel counts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of CPU."""

    server: float
    postgres: float

    def __sub__(self, other: Used) -> Used:
        return Used(self.server - other.server, self.postgres - other.postgres)


@dataclass(frozen=True, slots=True)
class Processes:
    """The server's process, and PostgreSQL's first one."""

    server: int
    postgres: int

    def used(self) -> Used:
        """Until now. Of PostgreSQL's processes those that are gone count too: their parent has inherited their time."""
        family = [*_children(self.postgres), self.postgres]
        return Used(_seconds(self.server, 2), sum(_seconds(pid, 4) for pid in family))

    def memory(self) -> float:
        """MiB of the server that are in memory."""
        lines = (PROC / str(self.server) / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def describe() -> str:
    """The machine's size and what runs on it."""
    info = (PROC / "cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), os.uname().machine)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{os.cpu_count()} cores of {model}, {pages / 2**30:.0f} GiB"


def cores() -> tuple[set[int], set[int]]:
    """One core for the server, the others for all else; on a machine with one core, the same."""
    mine = sorted(os.sched_getaffinity(0))
    return {mine[0]}, set(mine[1:]) or {mine[0]}


def _fields(pid: int) -> list[str]:
    # The command stands in brackets and may have spaces in it.
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _seconds(pid: int, kinds: int) -> float:
    """User and system time and, as the third and fourth, those of children that have ended."""
    try:
        return sum(map(int, _fields(pid)[11 : 11 + kinds])) / TICKS
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def _children(parent: int) -> Iterator[int]:
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                if int(_fields(int(entry.name))[1]) == parent:
                    yield int(entry.name)
            except (FileNotFoundError, ProcessLookupError):
                continue

"""The machine: what it is, its cores, and what it did beside the bench."""

from __future__ import annotations

import os
import resource
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")
OTHER_FILES = 500  # beside the sockets, in the server and here


def describe() -> str:
    """The machine's size and what runs on it."""
    info = (PROC / "cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), os.uname().machine)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{os.cpu_count()} cores of {model}, {pages / 2**30:.0f} GiB"


def cores() -> tuple[int, set[int]]:
    """One core for the server, the others for all else; on a machine with one core, the same."""
    mine = sorted(os.sched_getaffinity(0))
    return mine[0], set(mine[1:]) or {mine[0]}


def busy() -> tuple[float, int]:
    """Seconds of CPU that all programs have taken since the machine started, and the number of cores they had.

    It includes the time that a hypervisor gave to other machines, and leaves out interrupts: much of them is also
    counted as time of the process that was interrupted.
    """
    lines = [line.split() for line in (PROC / "stat").read_text().splitlines() if line.startswith("cpu")]
    user, nice, system, _idle, _waiting, _interrupts, _soft, stolen = map(int, lines[0][1:9])
    return (user + nice + system + stolen) / TICKS, len(lines) - 1


def sockets_allowed(wanted: int) -> int:
    """Return how many sockets may be open, and raise the limit of open files for them as far as this is allowed.

    A server that is started afterwards has the same limit, and keeps a part of it for other files.
    """
    needed = wanted * 5 // 4 + OTHER_FILES
    allowed = _allow_files(needed)
    return wanted if allowed >= needed else (allowed - OTHER_FILES) * 4 // 5


def _allow_files(number: int) -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= number:
        return number
    if hard == resource.RLIM_INFINITY or hard >= number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
        return number
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))  # as root
    except (ValueError, PermissionError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return hard
    return number

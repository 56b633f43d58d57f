"""What a media process may not do, put on by itself before it looks at anything that strangers sent."""

from __future__ import annotations

import ctypes
import resource
from contextlib import suppress

MIB = 1024 * 1024

NEW_USER, NEW_NETWORK, NEW_IPC = 0x1000_0000, 0x4000_0000, 0x0800_0000  # clone flags of Linux
NO_NEW_PRIVILEGES = 38  # of prctl
OPEN_FILES = 64


def confine(*, memory: int, seconds: int, file_size: int) -> None:
    """Bound this process and its children: memory, CPU time, files; no network, no privileges, no core dumps."""
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))
    _leave_the_network()


def _leave_the_network() -> None:
    """Into empty namespaces, where the kernel lets us: containers may forbid it, and only Linux has them."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        libc.unshare(NEW_USER | NEW_NETWORK | NEW_IPC)

"""File descriptors: how many the process may have, and how many of them clients may take.

Without limits of our own, clients could take all of them. Then PostgreSQL could not be started again, which needs pipes
and files, no upload could be processed, and `troupe tree` would get no answer.

The kernel gives out the lowest number that is free. So a descriptor with a high number says how many are in use, and
nothing has to be counted.
"""

from __future__ import annotations

import os
import resource

from ..answers.errors import Overloaded

# The soft limit to ask for. It is 1,024 on most systems, because of programs that use select(); the hard limit is
# higher. More connections than this need more memory than most machines have.
WANTED = 65_536
# Kept for the process itself: its connections to PostgreSQL and the programs that start it again, the control socket,
# media processes, and clients that are being refused. It takes about 60.
RESERVE = 128
# Files that requests may have open, as a part of the limit: uploads on their way in, and media files on their way out.
FILES = 1 / 8
# With a very low limit a part of it has to do.
SMALLEST_PART = 1 / 4


def raise_limit() -> None:
    """Raise the soft limit of this process and its children as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def end_of_files() -> int:
    """The first descriptor that no request may open a file with."""
    limit = _limit()
    return max(limit - RESERVE, int(limit * 2 * SMALLEST_PART))


def end_of_connections() -> int:
    """The first descriptor that no client may be connected by."""
    limit = _limit()
    return max(end_of_files() - int(limit * FILES), int(limit * SMALLEST_PART))


def are_used_up() -> bool:
    """True if the next client would be refused."""
    try:
        free = os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return True
    os.close(free)
    return free >= end_of_connections()


def count_open() -> int:
    """Return how many descriptors this process has open. It takes longer the more there are."""
    return len(os.listdir("/proc/self/fd"))


def check_file(descriptor: int) -> None:
    """Raise Overloaded if too many descriptors are in use to keep this file of a request open."""
    if descriptor >= end_of_files():
        raise Overloaded


def _limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED if soft == resource.RLIM_INFINITY else soft

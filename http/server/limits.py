"""The limits of clients: the times that the server waits for them, and the file descriptors that they may take.

The times are in seconds. Every read and every send has one of these deadlines.

Without limits of our own, clients could take all file descriptors. Then PostgreSQL could not be started again, which
needs pipes and files, no upload could be processed, and `troupe tree` would get no answer.

The kernel gives out the lowest number that is free. So a descriptor with a high number says how many are in use, and
nothing has to be counted.
"""

from __future__ import annotations

import os
import resource

from ..answers.errors import Overloaded

# A connection without a request, or with an incomplete request head, is closed after this time.
KEEP_ALIVE = 75
# A client that does not take what it is sent within this time is disconnected.
SEND = 30
# A client that opens connections and says nothing holds each of them for this time.
TLS_HANDSHAKE = 10
# A trusted proxy has this time to say which client a connection is from.
PROXY_HEADER = 5
# A connection that ends may use this time for its last bytes, and to let the client read them.
CLOSE = 1
# A client that is refused because too many connections are open has this time to send its request.
REFUSAL = 2
# A stopping server waits this long on idle connections, because the next request may be on its way.
LINGER = 0.5
# A client that sends no more may have left, or wait for its answer: it is sent what is ready within this time.
LEFT = 0.5
# Time between two WebSocket pings; `streaming/websocket.py` says why.
PING = 14.0

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

"""The limits of clients: the time for which the server waits for a client, and the file descriptors of clients.

The times are in seconds. Every read and every send has one of these deadlines.

Without these limits, clients could take all file descriptors. Then PostgreSQL could not be started again, because that
needs pipes and files; no upload could be processed; and `troupe tree` would get no answer.

The kernel assigns the lowest free number. So the number of a new descriptor shows how many are in use, without a count.
"""

from __future__ import annotations

import os
import resource

from ..answers.errors import Overloaded

# A connection without a request, or with an incomplete request head, is closed after this time.
KEEP_ALIVE = 75
# A client that does not accept sent bytes within this time is disconnected.
SEND = 30
# A client that sends nothing holds a connection for this time.
TLS_HANDSHAKE = 10
# A trusted proxy has this time to send the PROXY header.
PROXY_HEADER = 5
# A connection that ends may use this time for its last bytes, and to let the client read them.
CLOSE = 1
# A client that is refused because too many connections are open has this time to send its request.
REFUSAL = 2
# A stopping server waits this long on idle connections, because the next request may be on its way.
LINGER = 0.5
# A client that has shut down its sending side may have left, or may wait for its answer. It gets answers that are
# ready within this time.
LEFT = 0.5
# Time between two WebSocket pings; `streaming/websocket.py` has the reason.
PING = 14.0

# The soft limit that the server sets. It is 1,024 on most systems, because of programs that use select(); the hard
# limit is higher. More connections than this need more memory than most machines have.
WANTED = 65_536
# Reserved for the process itself: its connections to PostgreSQL and the programs that restart PostgreSQL, the control
# socket, media processes, and clients that are being refused. It uses about 60.
RESERVE = 128
# The part of the limit for files that requests have open: uploads that arrive, and media files that are sent.
FILES = 1 / 8
# With a very low limit, connections get at least this part of it, and connections and files together twice as much.
SMALLEST_PART = 1 / 4


def raise_limit() -> None:
    """Raise the soft limit of this process and its children as far as the hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def end_of_files() -> int:
    """Return the first descriptor that files of requests may not have."""
    limit = _limit()
    return max(limit - RESERVE, int(limit * 2 * SMALLEST_PART))


def end_of_connections() -> int:
    """Return the first descriptor that connections of clients may not have."""
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
    """Return the number of open descriptors of this process. The cost grows with the number."""
    return len(os.listdir("/proc/self/fd"))


def check_file(descriptor: int) -> None:
    """Raise Overloaded if a request's file has a descriptor beyond `end_of_files`."""
    if descriptor >= end_of_files():
        raise Overloaded


def _limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED if soft == resource.RLIM_INFINITY else soft

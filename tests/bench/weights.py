"""What an awake home and a stream hold: how much the server's memory grows by many of them."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from .fill import Size, token
from .listening import audience
from .load import PATIENCE, Caller, request
from .machine import sockets_allowed
from .processes import Processes
from .reads import HOME

# Wakes what all homes share, before anything is counted.
FIRST = 1 / 50


@dataclass(frozen=True, slots=True)
class Grown:
    """KiB that each of them holds, with the account's own actor and its part of the caches."""

    home: float
    websocket: float
    events: float


def weigh(port: int, processes: Processes, size: Size) -> Grown:
    """Wake homes, then open a stream for each of some of them. Afterwards the homes are awake and no stream is open."""
    readers = [token(size.accounts - number) for number in range(size.weighed)]
    listening = readers[: sockets_allowed(2 * size.sockets) // 2]  # for each of them two streams
    first = int(len(readers) * FIRST)
    caller = Caller(port)

    def wake(reader: str) -> None:
        caller.call(request("GET", f"{HOME}?limit=40", reader))

    for reader in readers[:first]:
        wake(reader)
    before = processes.memory()
    for reader in readers[first:]:
        wake(reader)
    awake = processes.memory()
    caller.close()
    # WebSockets stay open meanwhile, so that the others do not find memory that they have left.
    with audience(port, listening):
        listened = processes.memory()
        events = [_listen(port, reader) for reader in listening]
        streamed = processes.memory()
        for one in events:
            one.close()
    per = 1024 / len(listening)
    return Grown(
        (awake - before) * 1024 / (len(readers) - first), (listened - awake) * per, (streamed - listened) * per
    )  # fmt: skip


def _listen(port: int, reader: str) -> socket.socket:
    """Open a stream of server-sent events, and wait for its greeting."""
    line = socket.create_connection(("127.0.0.1", port), PATIENCE)
    line.sendall(request("GET", "/api/v1/streaming/user", reader))
    received = b""
    while b":)" not in received:
        received += line.recv(4096)
    return line

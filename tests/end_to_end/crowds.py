"""Clients that take all descriptors of a server, and the processes of its PostgreSQL."""

from __future__ import annotations

import http.client
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .server import Server

PATIENCE = 30
FEW = (256, 256)
MOST_CLIENTS = 300


@contextmanager
def crowd(server: Server, count: int) -> Generator[list[http.client.HTTPConnection]]:
    """Connections that are kept open, of which each has had an answer; fewer when the server takes no more."""
    clients: list[http.client.HTTPConnection] = []
    try:
        fill(server, clients, count)
        yield clients
    finally:
        for client in clients:
            client.close()


def fill(server: Server, clients: list[http.client.HTTPConnection], count: int) -> None:
    """Add connections until there are so many, or the server takes no more."""
    while len(clients) < count:
        client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        if ask(client, "/health")[0] != 200:
            client.close()
            return
        clients.append(client)


def ask(client: http.client.HTTPConnection, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    client.request("GET", path, headers=headers)
    answer = client.getresponse()
    return answer.status, answer.headers, answer.read()


def postgres(server: Server) -> list[int]:
    """The processes of its PostgreSQL, the first of all first."""
    first = int((server.data / "postgres" / "postmaster.pid").read_text().split("\n")[0])
    return [first, *(int(pid) for pid in Path(f"/proc/{first}/task/{first}/children").read_text().split())]

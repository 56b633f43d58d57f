"""The server on a core of its own, started as an operator starts it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from ..end_to_end.server import Server
from .processes import Processes, Watch

LOG = 10_000  # characters of the server's log that are shown after a failure
IDLE_AFTER = 2.0  # seconds


@dataclass(slots=True)
class Starts:
    """What each start took, and what the server and PostgreSQL then held."""

    listening: list[float] = field(default_factory=list[float])  # seconds
    server: list[float] = field(default_factory=list[float])  # MiB
    postgres: list[float] = field(default_factory=list[float])
    others: list[float] = field(default_factory=list[float])  # the share of all cores that others took meanwhile


@contextmanager
def serving(server: Server, postgres: Path, core: int) -> Generator[Processes]:
    """Run the server. The folder's PostgreSQL runs already: it is not to take time of the server's core."""
    server.start("taskset", "--cpu-list", f"{core}")
    try:
        assert server.process is not None
        yield replace(_before(postgres), server=server.process.pid)
    except Exception:
        click.echo(server.log[-LOG:], err=True)
        raise
    finally:
        server.stop()


def start_repeatedly(server: Server, postgres: Path, core: int, runs: int, patience: float) -> Starts:
    """Start the server as often as there are runs, and each time let it be idle for so many seconds."""
    starts = Starts()
    for _ in range(runs):
        watch, began = Watch(_before(postgres)), time.perf_counter()
        with serving(server, postgres, core) as processes:
            starts.listening.append(time.perf_counter() - began)
            starts.others.append(watch.since(processes)[1])
            time.sleep(min(IDLE_AFTER, patience))
            ours, theirs = processes.shares()
            starts.server.append(ours)
            starts.postgres.append(theirs)
    return starts


def _before(postgres: Path) -> Processes:
    """The processes before the server is started."""
    first = (postgres / "postgres" / "postmaster.pid").read_text().split()[0]
    return Processes(0, int(first))

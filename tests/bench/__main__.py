"""What requests cost: `make bench`, or `python -m tests.bench --scale 0.05 --seconds 1` for a quick look.

Fills a database, starts the real server on a core of its own, and asks it from another one. With --profile FILE the
server is watched by py-spy, which must be on the PATH, while it is measured; its figures are then worth less.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from troupe.storage.engine.embedded import embedded
from troupe.storage.engine.term import upgrade

from ..end_to_end.server import Server
from . import machine, table
from .abroad import abroad, fill_abroad
from .fill import Size, fill
from .inbox import fill_senders
from .machine import Processes
from .measures import Bench, Row
from .table import Weight
from .weights import weigh

README = Path(__file__).parents[2] / "README.md"


@click.command(help=__doc__)
@click.option("--scale", default=1.0, help="How much of the full database to fill.")
@click.option("--seconds", default=5.0, help="How long each kind of request is made.")
@click.option("--only", default="", help="Measure only what has this in its name.")
@click.option("--profile", type=click.Path(path_type=Path), help="Where py-spy writes what it saw.")
@click.option("--readme", is_flag=True, help="Put the table into README.md.")
def main(scale: float, seconds: float, only: str, profile: Path | None, readme: bool) -> None:
    size = Size(scale)
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        Path(folder).chmod(0o755)  # root's PostgreSQL runs as another user, who has to pass
        data = Path(folder) / "data"
        rows, weight = measure(data, size, lambda bench: run(bench, only, seconds, profile))
    text = table.render(rows, weight, size)
    click.echo(text)
    if readme:
        table.write(README, text)


def run(bench: Bench, only: str, seconds: float, profile: Path | None) -> list[Row]:
    """The measures whose name was asked for, watched or not."""
    with watched(bench.processes.server, profile):
        return [measure(seconds) for name, measure in bench.measures().items() if only in name]


def measure(data: Path, size: Size, work: Callable[[Bench], list[Row]]) -> tuple[list[Row], Weight]:
    """Do the work with a server on a fresh data folder."""
    ours, theirs = machine.cores()
    os.sched_setaffinity(0, theirs)
    data.mkdir()
    # PostgreSQL is started by us, so that it runs beside the load and not on the server's core.
    with embedded(data) as postgres, abroad() as others:
        server = Server(data, TROUPE_TEST_HOSTS=others.test_hosts)
        upgrade(postgres.dsn)
        newest = fill(postgres.dsn, server.url, size)
        fill_abroad(postgres.dsn)
        fill_senders(postgres.dsn)
        began = time.perf_counter()
        with _on(ours, theirs):
            server.start()
        seconds = time.perf_counter() - began
        try:
            processes = Processes(_pid(server), int((data / "postgres" / "postmaster.pid").read_text().split()[0]))
            idle = processes.memory()
            grown = weigh(server.port, processes, size)
            rows = work(Bench(server.port, processes, size, newest, others))
            return rows, Weight(seconds, idle, processes.memory(), grown)
        finally:
            server.stop()


@contextmanager
def watched(pid: int, profile: Path | None) -> Iterator[None]:
    """py-spy beside the server, when a profile is wanted."""
    if profile is None:
        yield
        return
    command = ("py-spy", "record", "--pid", str(pid), "--output", str(profile), "--format", "raw", "--rate", "500")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as spy:
        try:
            yield
        finally:
            spy.send_signal(signal.SIGINT)


@contextmanager
def _on(cores: set[int], afterwards: set[int]) -> Iterator[None]:
    """What is started inside runs on these cores."""
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, afterwards)


def _pid(server: Server) -> int:
    assert server.process is not None
    return server.process.pid


if __name__ == "__main__":
    main()

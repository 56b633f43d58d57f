"""What requests cost: `make bench`, or `python -m tests.bench --scale 0.05 --seconds 1` for a quick look.

Fills databases, starts the real server on a core of its own, and asks it from another one. With --profile FILE the
server is watched by py-spy, which must be on the PATH, while it is measured; its figures are then worth less.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click

from troupe.storage.engine.embedded import Embedded, embedded

from ..end_to_end.server import Server, free_port
from . import machine, table
from .abroad import Abroad, abroad
from .bench import Bench
from .databases import SHARES, WHOLE, dsn_of, fill_all, sizes
from .fill import Size
from .filled import Filled
from .measures import GROWING, Measures, all_measures, growing_measures
from .processes import Processes
from .samples import Row
from .serving import serving, start_repeatedly
from .table import Results
from .weights import weigh

README = Path(__file__).with_name("README.md")


@click.command(help=__doc__)
@click.option("--scale", default=1.0, help="How much of the full database to fill.")
@click.option("--seconds", default=9.0, help="How long each kind of request is made, in all runs.")
@click.option("--runs", default=3, help="In how many runs each row is measured.")
@click.option("--only", default="", help="Measure only rows that have this in their key, and leave the growth out.")
@click.option("--profile", type=click.Path(path_type=Path), help="Where py-spy writes what it saw.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="A folder with an empty database to fill. Without it, one is made, and deleted afterwards.",
)
@click.option("--readme", is_flag=True, help="Put the tables into the README of this folder.")
def main(
    scale: float, seconds: float, runs: int, only: str, profile: Path | None, data: Path | None, readme: bool
) -> None:  # fmt: skip
    core, others = machine.cores()
    os.sched_setaffinity(0, others)
    machine.sockets_allowed(Size(scale).many_sockets)  # before servers inherit the limit
    with tempfile.TemporaryDirectory(prefix="bench") as folder, abroad() as servers:
        Path(folder).chmod(0o755)  # root's PostgreSQL runs as another user, who has to pass
        run = Run(Path(folder), data, Size(scale), core, runs, seconds / runs, servers)
        text = table.render(run.results(only, profile))
    click.echo(text)
    if readme:
        table.write(README, text)


class Run:
    """One data folder with a PostgreSQL, and a server for each of its databases."""

    def __init__(
        self, folder: Path, data: Path | None, size: Size, core: int, runs: int, seconds: float, others: Abroad
    ) -> None:
        self.began = time.perf_counter()
        self.data = data or folder / "data"
        self.data.mkdir(exist_ok=True)
        self.size = size
        self.core = core
        self.runs = runs
        self.seconds = seconds
        self.others = others
        # An embedded PostgreSQL's users have its data folder; the other servers have one of their own.
        self.servers = {name: Server(folder / name) for name in SHARES}
        self.servers[WHOLE] = Server(self.data, TROUPE_TEST_HOSTS=others.test_hosts)

    def results(self, only: str, profile: Path | None) -> Results:
        """Fill the databases and measure."""
        names = [WHOLE] if only else [*self.servers]
        filled = fill_all(self.data, self.size, {name: self.servers[name].url for name in names})
        # PostgreSQL is started by us, so that it runs beside the load and not on the server's core.
        with embedded(self.data) as postgres:
            starts = start_repeatedly(self.servers[WHOLE], self.data, self.core, self.runs, self.seconds)
            growth = {name: self._growing(name, postgres, filled[name]) for name in names if name != WHOLE}
            # Without metrics an idle server has less in memory, so these are for the rows alone.
            metrics = free_port()
            self.servers[WHOLE].settings["TROUPE_METRICS"] = f"127.0.0.1:{metrics}"
            with serving(self.servers[WHOLE], self.data, self.core) as processes:
                grown = weigh(self.servers[WHOLE].port, processes, self.size)
                bench = self._bench(self.servers[WHOLE], processes, self.size, filled[WHOLE])
                with watched(processes.server, profile):
                    rows = _measured(all_measures(bench, self.others, metrics), only)
                loaded = processes.memory()
        growth[WHOLE] = {key: row for key, row in rows.items() if key in GROWING}
        counted = {sizes(self.size)[name].statuses: rows for name, rows in growth.items()}
        return Results(self.size, rows, counted, starts, grown, loaded, time.perf_counter() - self.began)

    def _growing(self, name: str, postgres: Embedded, filled: Filled) -> dict[str, Row]:
        """Measure with fewer statuses."""
        server = self.servers[name]
        server.data.mkdir()
        server.settings["TROUPE_DATABASE_URL"] = dsn_of(postgres.dsn, name)
        with serving(server, self.data, self.core) as processes:
            bench = self._bench(server, processes, sizes(self.size)[name], filled)
            return _measured(growing_measures(bench))

    def _bench(self, server: Server, processes: Processes, size: Size, filled: Filled) -> Bench:
        control = server.data / "control-main.sock"
        return Bench(server.port, processes, size, filled, self.runs, self.seconds, control)


def _measured(measures: Measures, only: str = "") -> dict[str, Row]:
    rows, began = dict[str, Row](), time.perf_counter()
    for key, measure in measures.items():
        if only in key:
            click.echo(f"{time.perf_counter() - began:4.0f} s  {key}", err=True)
            rows[key] = measure()
    return rows


@contextmanager
def watched(pid: int, profile: Path | None) -> Generator[None]:
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


if __name__ == "__main__":
    main()

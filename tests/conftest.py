"""What every room's tests start from: no settings of the shell's, and a real PostgreSQL for those who ask.

One server for each process of a run, and for each test that asks a database of its own (`tests/databases.py`). Their
files are copies of what is made once for all processes (`tests/made_once.py`).
"""

import gc
import os
import shutil
import signal
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from troupe.storage.engine import pool
from troupe.storage.engine.embedded import Embedded, embedded
from troupe.storage.engine.term import upgrade

from .buckets import s3_server
from .data_folders import copy_data, passable_folder
from .databases import Databases
from .kept_connections import CurrentLoop, Loan
from .made_media import MadeMedia, repeated_media
from .made_once import made_once

# Settings of the shell that runs the tests are no settings of the servers under test.
# The simulator's own variables stay: they say which seeds to run.
for _name in [name for name in os.environ if name.startswith("TROUPE_") and not name.startswith("TROUPE_SIM_")]:
    del os.environ[_name]

# The folders of tests, PostgreSQL's among them, are in memory where there is room: copying and syncing them is much of
# the cost of a test with a server of its own.
MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# With these, what a killed process had committed is still there; only a power cut could take it.
WITHOUT_THE_DISK = "fsync = off\nfull_page_writes = off\n"

SHARED = "shared_folder"  # the key under which a worker of xdist is told the folder that all of them share
SHARED_FOLDER = pytest.StashKey[Path]()

# A shell that starts the tests in the background has them ignore these signals, and so would each server of a test.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


# Collecting the tests makes hundreds of thousands of objects that live as long as the run. The garbage collector would
# look at them again and again: a third of the CPU of collecting, and a quarter of a second each time it looks at all.
gc.disable()

# When the garbage collector looks at young objects. The default took a tenth of the CPU of the tests.
COLLECT_AFTER = (50_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast-path", choices=("both", "on", "off"), default="both",
        help="Whether the servers of tests/http answer plain requests without hypercorn. Both are compared.",
    )  # fmt: skip


def pytest_collection_finish() -> None:
    """Have the garbage collector look only at what the tests themselves make."""
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show where the time went: with `--durations`, also the folders and files that took longest."""
    most = terminalreporter.config.getoption("durations")
    if not most:
        return
    folders, files = defaultdict[str, float](float), defaultdict[str, float](float)
    for report in (one for many in terminalreporter.stats.values() for one in many):
        if isinstance(report, pytest.TestReport):
            file = report.nodeid.partition("::")[0]
            folders[file.rpartition("/")[0]] += report.duration
            files[file] += report.duration
    for name, seconds in (("folders", folders), ("files", files)):
        terminalreporter.section(f"slowest {name}")
        for place, spent in sorted(seconds.items(), key=lambda item: -item[1])[:most]:
            terminalreporter.write_line(f"{spent:.1f}s {place}")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist which folder all workers share. It is deleted when they have ended."""
    config: pytest.Config = node.config
    if SHARED_FOLDER not in config.stash:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        config.stash[SHARED_FOLDER] = stack.enter_context(passable_folder())
    node.workerinput[SHARED] = str(config.stash[SHARED_FOLDER])


@pytest.fixture(scope="session")
def shared_folder(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A folder that all processes of this run share."""
    given: str | None = getattr(pytestconfig, "workerinput", {}).get(SHARED)
    with passable_folder() as own:
        yield Path(given) if given is not None else own


@pytest.fixture(scope="session")
def made_cluster(shared_folder: Path) -> Path:
    """A data directory whose PostgreSQL was made and has stopped. Tests copy it, because initdb takes much longer."""

    def make(data: Path) -> None:
        with embedded(data, durable=False):
            pass

    return made_once(shared_folder / "cluster", make)


@pytest.fixture(scope="session")
def prepared(made_cluster: Path, shared_folder: Path) -> Path:
    """A data directory whose PostgreSQL has stopped. Its schema is up to date, and it does not wait for the disk."""

    def make(data: Path) -> None:
        copy_data(made_cluster, data)
        with embedded(data, durable=False) as postgres:
            upgrade(postgres.dsn)
        with (data / "postgres" / "postgresql.auto.conf").open("a") as settings:
            settings.write(WITHOUT_THE_DISK)

    return made_once(shared_folder / "prepared", make)


@pytest.fixture(scope="session")
def server(prepared: Path) -> Iterator[Embedded]:
    """A PostgreSQL server that does not wait for the disk. The schema of its database `postgres` is up to date."""
    with _copy(prepared) as data, embedded(data, durable=False) as running:
        yield running


@pytest.fixture
def data() -> Iterator[Path]:
    """A data directory for a PostgreSQL of the test's own.

    Not pytest's tmp_path: root's PostgreSQL runs as another user, and pytest closes the folder above it to others.
    """
    with passable_folder() as path:
        yield path


@pytest.fixture
def cluster_data(made_cluster: Path) -> Iterator[Path]:
    """A data directory with a PostgreSQL of the test's own, which does not run yet."""
    with _copy(made_cluster) as data:
        yield data


@pytest.fixture(scope="session")
def databases(server: Embedded) -> Iterator[Databases]:
    """The databases of that server."""
    made = Databases(server.dsn)
    yield made
    made.close()


@pytest.fixture(scope="module")
def media_made_once() -> Iterator[MadeMedia]:
    """What runs media processes for the tests of a module: one for each file and task, whose results are copied."""
    with repeated_media() as made:
        yield made


@pytest.fixture
def each_in_a_process(media_made_once: MadeMedia, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each medium made in a process, for tests of what becomes of such processes."""
    monkeypatch.setattr(media_made_once, "every", True)


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The address of a server that speaks S3."""
    with s3_server() as address:
        yield address


@pytest.fixture
def dsn(databases: Databases) -> Iterator[str]:
    """A database of the test's own, migrated and empty."""
    name = databases.take()
    yield databases.named(name)
    databases.give_back(name)


@pytest.fixture
def loan(dsn: str, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Loan:
    """What opens the connections to the test's database, for tests that do not look at connections themselves.

    Pools ask it too. Set `over` before they close, and the connections serve the next test.
    """
    loan = databases.loan(dsn)
    monkeypatch.setattr(asyncpg, "connect", partial(vars(asyncpg)["connect"], loop=CurrentLoop()))
    monkeypatch.setattr(pool, "connect", loan.connect)
    return loan


@pytest.fixture
def bare_dsn(databases: Databases) -> Iterator[str]:
    """A database of the test's own with nothing in it at all."""
    with databases.bare() as name:
        yield databases.named(name)


@contextmanager
def _copy(data: Path) -> Generator[Path]:
    """A copy of a data directory."""
    with passable_folder() as path:
        copy_data(data, path)
        yield path

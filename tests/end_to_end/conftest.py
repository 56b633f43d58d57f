"""A real server for the tests that share one, and servers of their own for tests that start, stop and kill them."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from troupe.storage.engine.embedded import embedded
from troupe.storage.engine.term import upgrade

from ..data_folders import copy_data
from .server import Server

# With these, what a killed process had committed is still there; only a power cut could take it.
WITHOUT_THE_DISK = "fsync = off\nfull_page_writes = off\n"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A running server that the tests of this folder share; afterwards it stops in order."""
    with made() as shared:
        shared.start()
        yield shared
        assert shared.stop() == 0, shared.log


@pytest.fixture
def own_server(prepared: Path) -> Iterator[Server]:
    """A server of the test's own, not yet started. Its PostgreSQL is made, and does not wait for the disk."""
    with made() as own:
        copy_data(prepared, own.data)
        yield own


@pytest.fixture
def new_server() -> Iterator[Server]:
    """A server of the test's own that has nothing yet, for tests about the first start or about durability."""
    with made() as new:
        yield new


@pytest.fixture(scope="session")
def prepared(made_cluster: Path) -> Iterator[Path]:
    """The data folder that `own_server` starts with: its schema is up to date."""
    with passable_folder() as folder:
        data = folder / "data"
        copy_data(made_cluster, data)
        with embedded(data, durable=False) as postgres:
            upgrade(postgres.dsn)
        with (data / "postgres" / "postgresql.auto.conf").open("a") as settings:
            settings.write(WITHOUT_THE_DISK)
        yield data


@contextmanager
def passable_folder() -> Generator[Path]:
    """A folder for a while. Root's PostgreSQL runs as another user, who has to pass through it."""
    with TemporaryDirectory(prefix="troupe-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def made() -> Generator[Server]:
    """A server with a data folder that does not exist yet, and afterwards nothing."""
    with passable_folder() as folder:
        one = Server(folder / "data")
        try:
            yield one
        finally:
            one.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure shows the log of the server that it happened with."""
    report = yield
    for name in ("server", "own_server", "new_server"):
        log = getattr(getattr(item, "funcargs", {}).get(name), "log", "")
        if report.failed and log:
            report.sections.append((f"log of {name}", log[-20_000:]))
    return report

"""A real server for the tests that share one, and bare ones for those that start, stop and kill it themselves."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from .server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A running server that the tests of this folder share; afterwards it stops in order."""
    with made() as shared:
        shared.start()
        yield shared
        assert shared.stop() == 0, shared.log


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server of the test's own, not yet started."""
    with made() as own:
        yield own


@contextmanager
def made() -> Generator[Server]:
    """A server with a data folder, and afterwards nothing.

    Root's PostgreSQL runs as another user, who has to pass through the folders above.
    """
    with TemporaryDirectory(prefix="troupe-") as folder:
        Path(folder).chmod(0o755)
        one = Server(Path(folder) / "data")
        try:
            yield one
        finally:
            one.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure shows the log of the server that it happened with."""
    report = yield
    for name in ("server", "own_server"):
        log = getattr(getattr(item, "funcargs", {}).get(name), "log", "")
        if report.failed and log:
            report.sections.append((f"log of {name}", log[-20_000:]))
    return report

"""A real server for the tests that share one, and bare ones for those that start, stop and kill it themselves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running server that the tests of this folder share; afterwards it stops in order."""
    shared = Server(tmp_path_factory.mktemp("shared") / "data")
    try:
        shared.start()
        yield shared
        assert shared.stop() == 0, shared.log
    finally:
        shared.end()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, not yet started."""
    own = Server(tmp_path / "data")
    try:
        yield own
    finally:
        own.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure shows the log of the server that it happened with."""
    report = yield
    for name in ("server", "own_server"):
        log = getattr(getattr(item, "funcargs", {}).get(name), "log", "")
        if report.failed and log:
            report.sections.append((f"log of {name}", log[-20_000:]))
    return report

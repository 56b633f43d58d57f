"""A real server for the tests that share one, and servers of their own for tests that start, stop and kill them."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..data_folders import copy_data, passable_folder
from ..mail.mailserver import MailServer, mail_server
from .browser import Chrome, chromium, clear
from .server import Server


@pytest.fixture(scope="session")
def server(prepared: Path) -> Iterator[Server]:
    """A running server that the tests of this folder share; afterwards it stops in order."""
    with made() as shared:
        copy_data(prepared, shared.data)
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


@pytest.fixture(scope="module")
def post() -> Iterator[MailServer]:
    """A mail server that is one."""
    with mail_server() as running:
        yield running


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser that runs scripts and keeps what its console says, for all tests."""
    with chromium(tmp_path_factory.mktemp("profile"), logging=True) as running:
        yield running


@pytest.fixture(scope="session")
def plain_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser that runs no JavaScript, for all tests."""
    with chromium(tmp_path_factory.mktemp("profile"), javascript=False) as running:
        yield running


@pytest.fixture(scope="module")
def chrome(browser: Chrome) -> Chrome:
    """A browser that runs scripts and knows nothing of other files' tests."""
    clear(browser)
    return browser


@pytest.fixture(scope="module")
def window(plain_browser: Chrome) -> Chrome:
    """A browser that runs no JavaScript and knows nothing of other files' tests."""
    clear(plain_browser)
    return plain_browser


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
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure shows the log of the server that it happened with."""
    report = yield
    for name in ("server", "own_server", "new_server"):
        log = getattr(getattr(item, "funcargs", {}).get(name), "log", "")
        if report.failed and log:
            report.sections.append((f"log of {name}", log[-20_000:]))
    return report

"""A data folder in use, for the tests of commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from troupe.storage.engine.connect import LoneConnection
from troupe.storage.engine.embedded import embedded

from ..data_folders import copy_data, passable_folder
from .foreign import Rows


@pytest.fixture(scope="module")
def folder(prepared: Path) -> Iterator[tuple[Path, str]]:
    """A data folder whose PostgreSQL runs, as beside a server, and its address. The tests of a file share it."""
    with passable_folder() as data:
        copy_data(prepared, data)
        with embedded(data, durable=False) as postgres:
            yield data, postgres.dsn


@pytest.fixture
def made(dsn: str) -> Iterator[Rows]:
    """The rows of the test's database, which has none yet."""
    with LoneConnection(dsn, "test") as session:
        yield Rows(dsn, session)

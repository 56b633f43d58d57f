"""A scenario is some eight hundred runs of a server: give it the time on a busy machine too."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LONGEST = 600  # seconds


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(LONGEST))

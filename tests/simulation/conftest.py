"""A scenario is some eight hundred runs of a server: give it the time on a busy machine too."""

import os
from functools import partial
from pathlib import Path

import pytest

from troupe.supervision.testing import stage as worlds

HERE = Path(__file__).parent
LONGEST = 0 if "TROUPE_SIM_SEEDS" in os.environ else 600  # seconds; no limit if the number of runs is given

if nodes := os.environ.get("TROUPE_SIM_NODES"):
    from .staged import staged

    worlds.stage = partial(staged, nodes=int(nodes))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = f"{HERE}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.timeout(LONGEST))

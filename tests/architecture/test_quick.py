"""`make quick`: which tests are near to a change, and that it ends in time."""

import os
import subprocess
import sys
from math import inf

import pytest

from ..quick import ENDS_AT, ROOT, SMOKE, nearest

LISTS = ROOT / "tests/checklist/test_lists.py"


def test_the_changed_tests_come_first_and_then_those_of_the_noun() -> None:
    changed = ROOT / "tests/rules/test_text.py"
    first, second, *_ = nearest({changed, ROOT / "storage/lists.py"})
    assert (first, second) == (changed, LISTS)


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("actors/kernel/feed.py", "tests/kernel/test_feed.py"),
        ("http/entities/status.py", "tests/checklist/test_statuses.py"),
        ("actors/outbox/relay.py", "tests/simulation/test_relays.py"),
        ("actors/rules/scan.py", "tests/rules/test_text.py"),  # by the module between them
    ],
)
def test_tests_are_near_by_their_imports_and_by_their_nouns(module: str, test: str) -> None:
    assert ROOT / test in nearest({ROOT / module})


def test_a_change_of_words_alone_has_no_tests_of_its_own() -> None:
    assert nearest({ROOT / "README.md"}) == []
    assert all((ROOT / name).is_file() for name in SMOKE)


@pytest.mark.parametrize(("ends_at", "ended"), [(inf, "6 passed"), (0, "1 passed")])
def test_the_tests_stop_amid_a_file_when_their_time_is_over(ends_at: float, ended: str) -> None:
    options = ["-q", "-n", "1", "--dist", "loadfile", "-p", "tests.quick", "tests/architecture/test_floors.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=ROOT, env=os.environ | {ENDS_AT: str(ends_at)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
    assert ("The time is over after 1 tests" in done.stdout) is (ends_at == 0)

"""`make quick`: which tests are near to a change, and that it ends in time."""

from types import SimpleNamespace
from typing import cast

import pytest

from ..quick import ROOT, SMOKE, Deadline, nearest

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


@pytest.mark.parametrize(("seconds", "stops"), [(60, False), (-1, True)])
def test_the_tests_stop_when_their_time_is_over(seconds: float, *, stops: bool) -> None:
    deadline, session = Deadline(seconds), SimpleNamespace(shouldstop=False)
    deadline.pytest_sessionstart(cast("pytest.Session", session))
    deadline.pytest_runtest_logfinish()
    assert bool(session.shouldstop) is stops

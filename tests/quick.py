"""The tests that are nearest to a change, for a minute: `make quick`.

    make quick             what differs from main or, on main, from the last commit
    make quick SINCE=v1    what differs from another commit

First come the tests that were changed, then those that import a changed module or have the name of its noun, then those
that import a module which imports a changed one. A few tests of every room run in any case. What a minute has no time
for is counted. This finds most faults soon; only `make test` shows that there are none.
"""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import click
import pytest

from .architecture.imports import MODULES, ROOT, imported, name_of

SECONDS = 55
# The end of the time, by the system's monotonic clock: for the processes that run the tests.
ENDS_AT = "QUICK_TESTS_END_AT"
SMOKE = (
    "tests/architecture/test_accepted.py",
    "tests/architecture/test_floors.py",
    "tests/architecture/test_package.py",
    "tests/kernel/test_turns.py",
    "tests/http/test_foundation.py",
    "tests/simulation/test_streams.py",
    "tests/supervision/test_commands.py",
)
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


def changed_since(commit: str | None) -> list[Path]:
    """Return the files that differ from a commit, new ones included."""
    if commit is None:
        base = _git("merge-base", "HEAD", "main")
        commit = base if base != _git("rev-parse", "HEAD") or _git("status", "--porcelain") else "HEAD~1"
    names = [
        *_git("diff", "--name-only", commit).split("\n"),
        *_git("ls-files", "-o", "--exclude-standard").split("\n"),
    ]
    return sorted({ROOT / name for name in names if name})


def nearest(changed: Collection[Path]) -> list[Path]:
    """Return the tests that are near to changed files, the nearest ones first."""
    modules = {name_of(path) for path in changed if path in MODULES}
    nouns = {name.rpartition(".")[2] for name in modules}
    beside = {name_of(path) for path in MODULES if modules & _imports(path)} - modules
    steps = (
        (path for path in TESTS if path in changed),
        (path for path in TESTS if any(_is_noun(path.stem.removeprefix("test_"), noun) for noun in nouns)),
        (path for path in TESTS if modules & _imports(path)),
        (path for path in TESTS if beside & _imports(path)),
    )
    return list(dict.fromkeys(path for step in steps for path in step))


class Deadline:
    """Stops the tests when their time is over, and says how many were run.

    It is a plugin of each process. The one that hands out the tests could not stop a file that it has handed out.
    """

    def __init__(self, ends_at: float) -> None:
        self._ends_at = ends_at
        self._session: pytest.Session | None = None
        self._run = 0
        self._is_over = False

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._run += report.when == "call"

    def pytest_runtest_logfinish(self) -> None:
        if self._session is not None and time.monotonic() > self._ends_at:
            self._session.shouldstop = f"The time is over after {self._run} tests. `make test` runs all."
            self._is_over = True

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._is_over and not session.testsfailed:
            session.exitstatus = pytest.ExitCode.OK


def pytest_configure(config: pytest.Config) -> None:
    if ENDS_AT in os.environ:
        config.pluginmanager.register(Deadline(float(os.environ[ENDS_AT])))


def main(arguments: Sequence[str]) -> int:
    since = arguments[0] if arguments and arguments[0] else None
    found = nearest(changed_since(since))
    paths = list(dict.fromkeys([*found[:3], *(ROOT / name for name in SMOKE), *found[3:]]))
    click.echo(f"{len(found)} files of tests are near to what has changed.")
    os.environ[ENDS_AT] = str(time.monotonic() + SECONDS)
    options = ["-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "--maxfail", "10", "-p", "tests.quick"]
    return pytest.main([*options, *map(str, paths)])


def _is_noun(name: str, noun: str) -> bool:
    """True if a test has the name of a noun, be it of one thing or of many: `status` and `statuses`."""
    return name == noun or (len(noun) > 3 and name.startswith(noun))


@cache
def _imports(path: Path) -> frozenset[str]:
    return frozenset(name.removeprefix("troupe.") for _, name in imported(path))


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

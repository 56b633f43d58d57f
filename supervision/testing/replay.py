"""Playing a failed seed again in another process, before its command is printed.

The seed decides every choice of the scheduler, but not the order of a set of strings: Python salts their hashes anew in
each process, unless `PYTHONHASHSEED` is set. If tasks are started in the order of a set, the same seed plays another
run in another process. The salt of this process can't be read. So the seed is played again in processes with a known
one, and the report has the command that has failed there.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from .report import replay_command
from .series import FailedSeed, PlayedSeed
from .shrink import signature

# The file into which a test that is played again writes how it failed.
SIGNATURE_FILE = "TROUPE_SIM_SIGNATURE_FILE"
HASH_SEEDS = range(8)  # two tasks in a set run in the other order with one of two
LONGEST_REPLAY = 60.0  # seconds of real time, for all processes together
# Variables of this process that would change the behaviour of pytest in the replaying process.
OF_THIS_PROCESS = ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID")

DEPENDS = (
    "It passes with PYTHONHASHSEED={passing}: the run depends on the order of a set of strings (or of a dict made from "
    "one). Sort it where the order decides which task is started or woken first."
)
UNKNOWN = (
    "It did not fail again in {count} other processes (PYTHONHASHSEED=0 to {last}). The run depends on something "
    "outside of its seed: the order of a set, the environment, files, the real time."
)


def is_replay() -> bool:
    """True in a process that replays a failed run for another process. It only reports how the run fails."""
    return SIGNATURE_FILE in os.environ


def write_signature(played: PlayedSeed) -> None:
    """Write how a run failed, for the process that has asked for it."""
    Path(os.environ[SIGNATURE_FILE]).write_text(repr(signature(played.error)))


def replay_lines(failure: FailedSeed, test: str, scenario: Callable[..., object]) -> list[str]:
    """Return the command that replays the failed run, and further conditions of the failure."""
    known = os.environ.get("PYTHONHASHSEED", "")
    if known.isdigit() or _has_generated_arguments():
        return [replay_command(failure.first, test, known if known.isdigit() else "")]
    folder = root_of(test, scenario)
    if folder is None:  # it was not started by pytest
        return [replay_command(failure.first, test)]
    deadline = time.monotonic() + LONGEST_REPLAY
    wanted = repr(signature(failure.first.error))
    for count, hash_seed in enumerate(map(str, HASH_SEEDS)):
        found = _play_again(failure.first, test, folder, hash_seed, deadline - time.monotonic())
        if found == wanted:
            command = replay_command(failure.first, test, hash_seed)
            return [command] if count == 0 else [command, DEPENDS.format(passing=count - 1)]
        if found is None:
            return [replay_command(failure.first, test), "(It could not be played again in another process.)"]
    return [replay_command(failure.first, test), UNKNOWN.format(count=len(HASH_SEEDS), last=HASH_SEEDS[-1])]


def root_of(test: str, scenario: Callable[..., object]) -> Path | None:
    """Return the folder in which pytest finds the test by its name. None if there is none."""
    file = Path(inspect.getfile(scenario)).resolve()
    name = test.partition("::")[0]
    return next((folder for folder in file.parents if folder / name == file), None)


def _play_again(played: PlayedSeed, test: str, folder: Path, hash_seed: str, seconds: float) -> str | None:
    """Return how the run fails in a new process, "" if it passes, and None if it was not played."""
    with tempfile.TemporaryDirectory() as scratch:
        signature_file = Path(scratch) / "signature"
        environment = {name: value for name, value in os.environ.items() if name not in OF_THIS_PROCESS}
        environment |= {
            "PYTHONHASHSEED": hash_seed,
            "TROUPE_SIM_SEED": str(played.seed),
            "TROUPE_SIM_STRATEGY": played.strategy,
            SIGNATURE_FILE: str(signature_file),
        }
        one_process = ["-n", "0"] if "xdist" in sys.modules else []
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *one_process, test]
        try:
            code = subprocess.run(  # noqa: S603  # the command of the test that runs now
                command, cwd=folder, env=environment, timeout=max(seconds, 1.0), check=False, capture_output=True
            ).returncode  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        if signature_file.exists():
            return signature_file.read_text()
        return "" if code == 0 else None


def _has_generated_arguments() -> bool:
    """True under hypothesis: in another process the test would get other arguments."""
    hypothesis = sys.modules.get("hypothesis")
    return hypothesis is not None and hypothesis.currently_in_test_context()

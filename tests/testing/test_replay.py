"""A failed seed is played again in other processes before its command is printed."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from troupe.supervision.testing import Run, bare, replay
from troupe.supervision.testing.series import Series

SCENARIOS = """
from troupe.supervision.testing import bare, simulation

@simulation(seeds=1)
async def test_tasks_in_the_order_of_a_set(run):
    order = []

    async def arrive(name):
        order.append(name)

    async with run.together() as go:
        for name in {"ada", "bob", "cyd", "dan"}:
            go(arrive, name, name=name)
    assert "".join(order) == "".join(WANTED), f"{order}"

@simulation(seeds=1)
async def test_always(run):
    assert not WANTED
"""
# `CI` would make pytest write each failure out a second time, in its summary.
WITHOUT = ("CI", "PYTHONHASHSEED", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
ORDER = "import sys; print(''.join({'ada', 'bob', 'cyd', 'dan'}))"


def order_of_a_set(hash_seed: int) -> str:
    environment = {"PYTHONHASHSEED": str(hash_seed)}
    return subprocess.run([sys.executable, "-c", ORDER], env=environment, capture_output=True, text=True).stdout.strip()


def output_of(folder: Path, test: str, **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT} | more
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"scenarios/{test}"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with scenarios. Its tests run in a folder below the root, like those of most projects."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "scenarios").mkdir()
    return tmp_path


def scenarios(folder: Path, wanted: object) -> None:
    (folder / "scenarios" / "test_it.py").write_text(f"WANTED = {wanted!r}\n{SCENARIOS}")


def test_the_printed_command_fails_where_the_order_of_a_set_decides(folder: Path) -> None:
    orders = [order_of_a_set(hash_seed) for hash_seed in range(8)]
    passing = orders[0]
    first_failing = next(hash_seed for hash_seed in range(8) if orders[hash_seed] != passing)
    scenarios(folder, re.findall("...", passing))
    # In the process that finds it, the salt is not known to the test; here it is one that is known to fail.
    shown = output_of(folder, "test_it.py::test_tasks_in_the_order_of_a_set", PYTHONHASHSEED=str(first_failing))
    assert f"PYTHONHASHSEED={first_failing} TROUPE_SIM_SEED=0" in shown
    [command] = re.findall(r"PYTHONHASHSEED=.* python -m pytest .*", shown)
    *variables, _, _, _, test = shlex.split(command)
    again = output_of(folder, test.removeprefix("scenarios/"), **dict(v.split("=") for v in variables))
    assert "assert" in again
    assert "1 failed" in again


def test_a_salt_that_is_not_known_is_found_by_playing_again(folder: Path) -> None:
    orders = [order_of_a_set(hash_seed) for hash_seed in range(8)]
    scenarios(folder, re.findall("...", orders[0]))
    first_failing = next(hash_seed for hash_seed in range(8) if orders[hash_seed] != orders[0])
    shown = ""
    for _ in range(5):  # the salt of one in twenty-four processes is like that of the passing order
        shown = output_of(folder, "test_it.py::test_tasks_in_the_order_of_a_set", PYTHONHASHSEED="random")
        if "failed" in shown:
            break
    assert f"PYTHONHASHSEED={first_failing} TROUPE_SIM_SEED=0" in shown
    assert f"It passes with PYTHONHASHSEED={first_failing - 1}" in shown
    assert "order of a set" in shown


def test_a_run_that_depends_on_nothing_else_is_played_again_once(folder: Path) -> None:
    scenarios(folder, True)
    shown = output_of(folder, "test_it.py::test_always", PYTHONHASHSEED="random")
    assert "PYTHONHASHSEED=0 TROUPE_SIM_SEED=0" in shown
    assert "It passes" not in shown


def test_a_run_that_fails_in_no_other_process_is_said_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenarios(folder, False)  # so that it passes there
    scenario = runpy.run_path(str(folder / "scenarios" / "test_it.py"))["test_always"].__wrapped__
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.setattr(replay, "HASH_SEEDS", range(1))

    async def failing(run: Run) -> None:
        raise LookupError

    failure = Series(failing, bare, shrinks=False).play_all([0], ["random"])
    assert failure is not None
    command, said = replay.replay_lines(failure, "scenarios/test_it.py::test_always", scenario)
    assert command.startswith("TROUPE_SIM_SEED=0 ")
    assert "did not fail again in 1 other processes" in said

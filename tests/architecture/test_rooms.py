"""The source tree: four rooms, one import line, and no module that hides the standard library's."""

import subprocess
import sys

import pytest

from .imports import MODULES, ROOMS, ROOT, imported


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_itself_and_the_rooms_to_its_left(room: str) -> None:
    right = ROOMS[ROOMS.index(room) + 1 :]
    wrong = [
        f"{module.relative_to(ROOT)}:{line} imports {name}"
        for module in MODULES
        if module.is_relative_to(ROOT / room)
        for line, name in imported(module)
        if name.removeprefix("troupe.").split(".")[0] in right and _is_ours(name)
    ]
    assert wrong == []


def test_project_code_imports_the_project_by_relative_imports() -> None:
    wrong = [
        f"{module.relative_to(ROOT)}:{line}"
        for module in MODULES
        for line, name in imported(module)
        if name.split(".")[0] == "troupe"
    ]
    assert wrong == []


def test_http_is_no_regular_package() -> None:
    assert not (ROOT / "http" / "__init__.py").exists()


def test_pip_runs_in_the_root_and_finds_the_standard_library() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "pip", "--version"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    found = subprocess.run(
        [sys.executable, "-c", "import http.client; print(http.client.__file__)"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not found.stdout.startswith(str(ROOT / "http"))


def test_the_top_level_holds_the_rooms_and_nothing_else() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    folders = {line.split("/")[0] for line in tracked.stdout.splitlines() if "/" in line}
    assert folders <= {*ROOMS, "tests", ".ci"}


def _is_ours(name: str) -> bool:
    """`http.client` is the standard library's; a relative import out of a room begins with a room too, but is ours."""
    path = ROOT.joinpath(*name.removeprefix("troupe.").split("."))
    return path.is_dir() or path.with_suffix(".py").exists()

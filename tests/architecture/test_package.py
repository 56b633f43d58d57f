"""What `pip install .` installs: every module, every migration, every page, and a `troupe` command."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import pytest

import troupe

from ..accept import ADVICE
from ..release.contents import DATA, OPERATIONS, ROOMS, is_packaged

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel that was built of a copy of the tree: building writes beside the sources."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("built")
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "__init__.py", "py.typed"):
        shutil.copy(ROOT / name, copy)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(built),
        ".",
    ]
    subprocess.run(build, cwd=copy, check=True, capture_output=True)
    with zipfile.ZipFile(next(built.glob("troupe_server-*.whl"))) as archive:
        return set(archive.namelist())


def test_every_folder_with_modules_is_a_listed_package(project: dict[str, Any]) -> None:
    folders = {module.parent.relative_to(ROOT) for room in ROOMS for module in (ROOT / room).rglob("*.py")}
    assert {".".join(("troupe", *folder.parts)) for folder in folders} | {"troupe"} == set(
        project["tool"]["setuptools"]["packages"]
    ), ADVICE


def test_a_wheel_holds_every_file_of_the_rooms(wheel: set[str]) -> None:
    files = {
        f"troupe/{path.relative_to(ROOT).as_posix()}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and is_packaged(path.relative_to(ROOT).as_posix())
    }
    assert files - wheel == set()
    assert "troupe/py.typed" in wheel, "type checkers use the types of tests that are written with the kit (PEP 561)"


def test_a_wheel_holds_nothing_else(wheel: set[str]) -> None:
    installed = {name for name in wheel if not name.startswith(("troupe_server-", f"troupe/{OPERATIONS}"))}
    assert {name for name in installed if Path(name).suffix not in DATA | {".py", ".typed"}} == set()
    assert not any(name.startswith("troupe/tests") for name in installed)


def test_the_installed_distribution_is_called_troupe_server(project: dict[str, Any]) -> None:
    assert project["project"]["name"] == "troupe-server"
    assert version("troupe-server") == troupe.__version__
    (command,) = entry_points(group="console_scripts", name="troupe")
    assert command.value == "troupe.supervision.commands:main"

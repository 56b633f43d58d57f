"""Builds of tiny projects that are not the same everywhere."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .builds import ELSEWHERE, HERE, Surroundings, build, members, require_equal
from .refusal import ReleaseRefused
from .repository import Repository

UPGRADE = Path(__file__).parents[2] / "supervision" / "operations" / "handbook" / "upgrade.md"
PATIENCE = 60
PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "tea"
version = "1.0.0"
[tool.setuptools]
packages = ["tea"]
package-data = { tea = ["*.txt"] }
"""
#: What a setup.py can write into the package, and is another thing on each machine.
LEAKS = {
    "clock": "time.time()",
    "zone": "time.strftime('%c', time.localtime(0))",
    "hashes": "[*{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}]",
    "locale": "open('tea/name.txt').encoding",
    "umask": "oct(os.stat('setup.py').st_mode)",
    "times": "os.stat('setup.py').st_mtime",
    "folder": "os.getcwd()",
}


@pytest.fixture
def project(tmp_path: Path) -> Repository:
    folder = tmp_path / "project"
    (folder / "tea").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "tea" / "__init__.py").touch()
    (folder / "tea" / "name.txt").write_text("Grüner Tee")
    return Repository(folder)


def committed(project: Repository) -> Repository:
    project.git("init", "--quiet")
    project.git("add", "--all")
    project.git(
        "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "--allow-empty", "-m", "Tea"
    )
    return project


def test_neither_file_depends_on_the_machine(project: Repository, tmp_path: Path) -> None:
    committed(project)
    first = build(project, "HEAD", tmp_path / "first", HERE)
    project.git("config", "core.autocrlf", "true")
    second = build(project, "HEAD", tmp_path / "second", ELSEWHERE)
    for one, other in zip(first.files, second.files, strict=True):
        require_equal(one, other)


def test_what_is_not_committed_is_not_built(project: Repository, tmp_path: Path) -> None:
    """`build/` has the modules of earlier builds, and setuptools takes them into a wheel."""
    committed(project)
    old = project.folder / "build" / "lib" / "tea"
    old.mkdir(parents=True)
    for path in (old / "old.py", project.folder / "tea" / "new.txt"):
        path.touch()
    wheel = members(build(project, "HEAD", tmp_path / "built", HERE).wheel)
    assert [name for name in wheel if name.startswith("tea/")] == ["tea/__init__.py", "tea/name.txt"]


def test_an_upgrade_by_the_handbook_installs_no_module_of_the_earlier_version(
    project: Repository, tmp_path: Path
) -> None:
    (project.folder / "tea" / "old.py").touch()
    committed(project)
    source = tmp_path / "src"
    project.git("clone", "--quiet", str(project.folder), str(source))
    commands = [
        line.strip().replace("/opt/troupe/src", str(source)).replace("/opt/troupe/bin/pip", f"{sys.executable} -m pip")
        for line in UPGRADE.read_text("utf-8").splitlines()
        if line.startswith("    ") and "/opt/troupe/src" in line and "requirements.lock" not in line
    ]
    assert [command.split()[0] for command in commands] == ["git", "rm", sys.executable]
    for name in ("before", "after"):
        for command in commands:
            target = {**os.environ, "PIP_TARGET": str(tmp_path / name), "PIP_NO_INDEX": "1"}
            subprocess.run(shlex.split(command), env=target, capture_output=True, timeout=PATIENCE, check=True)
        assert (tmp_path / name / "tea" / "old.py").exists() == (name == "before")
        (project.folder / "tea" / "old.py").unlink(missing_ok=True)
        committed(project)


def test_a_build_that_depends_on_the_machine_is_found(project: Repository, tmp_path: Path) -> None:
    leaks = "".join(f"open('tea/{name}.txt', 'w').write(ascii({leak}))\n" for name, leak in LEAKS.items())
    (project.folder / "setup.py").write_text(f"import os, time\nfrom setuptools import setup\n{leaks}setup()\n")
    committed(project)
    one, other = (
        build(project, "HEAD", tmp_path / name, surroundings).wheel
        for name, surroundings in (("first", HERE), ("second build", ELSEWHERE))
    )
    with pytest.raises(ReleaseRefused, match=r"Two builds of tea-1\.0\.0-.*\.whl differ, in .*tea/clock\.txt"):
        require_equal(one, other)
    first, second = members(one), members(other)
    assert [leak for leak in LEAKS if first[f"tea/{leak}.txt"] == second[f"tea/{leak}.txt"]] == []


def test_a_build_that_fails_is_refused_with_its_error(project: Repository, tmp_path: Path) -> None:
    (project.folder / "setup.py").write_text("raise SystemExit('no tea')")
    with pytest.raises(ReleaseRefused, match=r"build_wheel failed:[^$]*no tea"):
        build(committed(project), "HEAD", tmp_path / "built", HERE)


def test_nothing_else_of_the_environment_reaches_the_builder(project: Repository, tmp_path: Path) -> None:
    """A maintainer may have settings of setuptools, for example."""
    leak = "open('tea/leak.txt', 'w').write(' '.join(os.environ))"
    (project.folder / "setup.py").write_text(f"import os\nfrom setuptools import setup\n{leak}\nsetup()\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIST_EXTRA_CONFIG", str(tmp_path))
        wheel = build(committed(project), "HEAD", tmp_path / "built", Surroundings(0o022, False, 0, {})).wheel
    assert {*members(wheel)["tea/leak.txt"].decode().split()} - {"LC_CTYPE"} == {"HOME", "PATH", "SOURCE_DATE_EPOCH"}

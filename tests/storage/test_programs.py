"""PostgreSQL's programs where the user who runs them can't reach the wheel."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from troupe.storage.engine import programs
from troupe.storage.engine.programs import closed_folder

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def closed_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of a wheel in a folder that only its owner may enter."""
    real = programs.find()
    installed = tmp_path / "closed"
    shutil.copytree(real.parent, installed / programs.PACKAGE / programs.FOLDER, symlinks=True)
    libraries = real.parents[2] / programs.LIBRARIES
    if libraries.exists():
        shutil.copytree(libraries, installed / programs.LIBRARIES, symlinks=True)
    installed.chmod(0o700)
    monkeypatch.setattr(programs, "find", lambda: installed / programs.PACKAGE / programs.FOLDER / "bin")
    return installed


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for the copies that all users can reach."""
    folder = Path("/tmp") / f"troupe-copies-{os.getpid()}"
    monkeypatch.setattr(programs, "COPIES", folder / "postgresql")
    yield folder / "postgresql"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("again", [False, True])
def test_another_user_runs_a_copy_of_programs_in_a_closed_folder(closed_wheel: Path, copies: Path, again: bool) -> None:
    modes = [path.stat().st_mode for path in closed_wheel.parents]
    if os.geteuid() != 0:
        with pytest.raises(programs.NoPrograms):  # only root's copy can be trusted
            programs.find_for(NOBODY)
        return
    found = programs.find_for(NOBODY)
    assert closed_folder(found / "postgres", NOBODY) is None
    version = subprocess.run([found / "initdb", "--version"], user=NOBODY.pw_uid, capture_output=True, check=True)
    assert version.stdout.startswith(b"initdb (PostgreSQL)")
    assert [path.stat().st_mode for path in closed_wheel.parents] == modes
    if again:
        assert programs.find_for(NOBODY) == found
        assert [path.name for path in copies.iterdir()] == [found.parents[2].name]


def test_a_folder_for_copies_that_others_can_write_to_is_refused(closed_wheel: Path, copies: Path) -> None:
    copies.mkdir(parents=True)
    copies.chmod(0o777)
    with pytest.raises(programs.NoPrograms, match="open to others"):
        programs.find_for(NOBODY)


def test_programs_that_can_be_reached_are_not_copied(copies: Path) -> None:
    found = programs.find_for(pwd.getpwuid(os.geteuid()))
    assert copies not in found.parents

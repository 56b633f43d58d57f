"""Troupe installed from a clean copy of the tree, and started, by the commands of the README.

The packages that it runs on are those of the tests, and not downloaded again: they are compared with the lock file.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
LOCKED = re.compile(r"^([a-z0-9._-]+)==(\S+)(?: ; (.+?))? \\$", re.MULTILINE)
NEVER_COPIED = shutil.ignore_patterns(".git", ".venv", "data", "build", "__pycache__", "*.egg-info", ".*_cache")
TRACKED = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
PATIENCE = 60


def install(folder: Path) -> Path:
    """Copy the tree and prepare what `make run` then finds. Return the command `troupe`, which `make run` installs."""
    assert not (wrong := [*_differing()]), f"other packages than those of requirements.lock: {wrong}; run make lint"
    _copy(folder)
    made = folder / ".venv"
    venv.create(made, symlinks=True)
    (packages,) = made.glob("lib/python*/site-packages")
    (packages / "of_the_tests.pth").write_text(sysconfig.get_path("purelib"))
    for stamp in (".made", ".run"):  # the steps of the Makefile that are done
        (made / stamp).touch()
    return made / "bin" / "troupe"


def command(start: str) -> list[str]:
    """Return the words of the README's first command that begins so, without the remark behind it."""
    found = re.search(rf"^    ({re.escape(start)}.*?)(?:  +#.*)?$", README, re.MULTILINE)
    assert found, f"the README has no command {start}"
    # A make of our own: what runs the tests may be one, and would pass its options on.
    return ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "-u", "MFLAGS", *found[1].split()]


def block(title: str) -> str:
    """Return the first block of commands below a title of the README."""
    found = re.search(rf"^## {re.escape(title)}\n(?s:.*?)\n\n((?:    .*\n)+)", README, re.MULTILINE)
    assert found, f"the README has no commands below {title}"
    return re.sub(r"^    ", "", found[1], flags=re.MULTILINE)


def shell(commands: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what commands print that are typed into a shell."""
    plain = {name: value for name, value in environment.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=folder, env=plain, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def is_ours(troupe: Path, folder: Path) -> bool:
    """True if this command runs the copy, and not what the tests import."""
    asked = [str(troupe.with_name("python")), "-c", "import troupe; print(troupe.__file__)"]
    told = subprocess.run(asked, cwd="/", capture_output=True, text=True, timeout=PATIENCE, check=True)
    return Path(told.stdout).is_relative_to(folder)


def _differing() -> Iterator[str]:
    """Yield what the lock file names for this Python, and is not installed in that version."""
    for name, wanted, marker in LOCKED.findall((ROOT / "requirements.lock").read_text("utf-8")):
        if not marker or Marker(marker).evaluate():
            try:
                found = version(name)
            except PackageNotFoundError:
                found = "none"
            if found != wanted:
                yield f"{name} {found} in place of {wanted}"


def _copy(folder: Path) -> None:
    """Copy what git has, or would take; without a repository, what is no product of a build."""
    listed = subprocess.run(TRACKED, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        shutil.copytree(ROOT, folder, dirs_exist_ok=True, ignore=NEVER_COPIED)
        return
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)

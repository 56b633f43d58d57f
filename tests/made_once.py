"""Folders that are made once for all processes of a run."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder. The first process that asks makes it, while others wait; `make` is given it empty."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        finished = folder.with_suffix(".finished")
        if not finished.exists():
            shutil.rmtree(folder, ignore_errors=True)  # left by a process that failed
            folder.mkdir(mode=0o755)
            make(folder)
            finished.touch()
    return folder

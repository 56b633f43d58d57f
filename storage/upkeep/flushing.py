"""Waiting until written data is on the disk, so that it survives a power cut."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

LINUX = sys.platform == "linux"


def flush_disk(folder: Path) -> None:
    """Have the disk of a folder keep all that was written to it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        if LINUX:
            ctypes.CDLL(None).syncfs(handle)  # `os.sync` would wait for all disks of the machine
        else:
            os.sync()
    finally:
        os.close(handle)


def flush(path: Path) -> None:
    """Have the disk keep a file or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Short names of sockets, for the control socket and the commands that ask through it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_name(path: Path) -> Generator[str]:
    """Return a path through an open folder: a socket's name holds 107 bytes, and a data folder's may be longer."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)

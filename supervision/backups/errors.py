"""The reasons why a backup is not made, not whole or not restored."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)


class BackupFailed(Exception):
    """Raised when a backup can't be made or restored. The text says why, and what to do."""


class BackupDamaged(BackupFailed):
    """Raised when a backup has changed since it was made."""


@contextmanager
def explain_full_disk(folder: Path, going_on: str) -> Generator[None]:
    """Raise BackupFailed for a full disk, with the disk and the way to go on."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise BackupFailed(f"The disk of {folder} is full. Free some space there. {going_on}") from error
        raise

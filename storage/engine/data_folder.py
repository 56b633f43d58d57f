"""The permissions of the data folder: only its owner may enter it. No folder above it is changed."""

import os
import stat
from pathlib import Path

# A file that is there while a backup is restored into the folder.
RESTORING = "restoring"

FOLDER = 0o700
FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO

# The mode of missing folders above the data folder, which are made.
ABOVE = 0o755


class UnfinishedRestore(Exception):
    """Raised for a data folder into which a backup was not restored to the end."""


def refuse_unfinished(data: Path) -> None:
    """Raise UnfinishedRestore while a restore into the folder is not finished."""
    if (data / RESTORING).exists():
        raise UnfinishedRestore(
            f"a backup is being restored into {data}: wait until `troupe restore` is done, or, if it was interrupted,"
            " run the same command again"
        )


def make_private(data: Path) -> None:
    """Make the folder if it is missing, and remove every right of group and others to it and to its contents.

    The contents of folders that are closed already are not checked: the media folder can have a million files.
    """
    if not data.is_dir():
        _make_above(data.parent)
        data.mkdir(mode=FOLDER, exist_ok=True)
    if stat.S_IMODE(data.stat().st_mode) != FOLDER:
        data.chmod(FOLDER)
    _close_contents(data)


def _make_above(folder: Path) -> None:
    """Make the missing folders above.

    Their mode does not depend on the umask, because PostgreSQL may run as another user.
    """
    if not folder.is_dir():
        _make_above(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(ABOVE)


def _close_contents(folder: Path) -> None:
    """Close the contents of a folder, and the folder last: so an interrupted walk is done again."""
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode) or not mode & FOR_OTHERS:
                continue
            if stat.S_ISDIR(mode):
                _close_contents(Path(entry))
            os.chmod(entry, stat.S_IMODE(mode) & ~FOR_OTHERS)

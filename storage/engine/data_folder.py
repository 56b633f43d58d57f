"""The data folder: only its owner may enter it, and so are its files. No folder above it is ever changed."""

import os
import stat
from pathlib import Path

FOLDER = 0o700
FILE = 0o600
FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO

#: Of folders above the data folder that are missing and made on the way.
ABOVE = 0o755


def make_private(data: Path) -> None:
    """Make the folder if it is missing, and take group and others every right to it and to its contents.

    Folders that are closed already are not looked through: the media folder can have a million files.
    """
    if not data.is_dir():
        _make_above(data.parent)
        data.mkdir(mode=FOLDER, exist_ok=True)
    if stat.S_IMODE(data.stat().st_mode) != FOLDER:
        data.chmod(FOLDER)
    _close_contents(data)


def _make_above(folder: Path) -> None:
    """Independent of the umask, because PostgreSQL may run as another user, who has to pass."""
    if not folder.is_dir():
        _make_above(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(ABOVE)


def _close_contents(folder: Path) -> None:
    """A folder is closed after its contents, so that a walk that was cut off is done again."""
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode) or not mode & FOR_OTHERS:
                continue
            if stat.S_ISDIR(mode):
                _close_contents(Path(entry))
            os.chmod(entry, stat.S_IMODE(mode) & ~FOR_OTHERS)

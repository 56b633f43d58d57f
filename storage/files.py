"""Media files on this machine's disk, below the data folder. Each has a random name and never changes.

    media/4f/4f01….jpg           a served file
    media/incoming/main/4f01…/   an upload in processing by the node `main`; after its restart, left over by a crash
    media/incoming/command-line/ the same by a command, until its rows are stored
    media/waiting/1103           a waiting upload, named by its attachment
    media/withheld/4f/4f01….jpg  a file of a suspended account, which is not served

Several nodes may use one folder.
All functions here wait for the disk: they are called in threads.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from .engine.node import NODE_NAME

NAME = re.compile(r"[0-9a-f]{32}(-small)?\.[a-z0-9]{2,4}")
# The name of a waiting upload, among an attachment's files.
WAITING = re.compile(r"waiting/([0-9]{1,19})")

COPIED_AT_ONCE = 1024 * 1024
COMMANDS = "command-line"  # in the place of a node: the folder of commands that run beside the servers


class Folder:
    """The media folder of a server, as the node of this name uses it."""

    def __init__(self, root: Path, node: str) -> None:
        self.root = root
        self.node = node
        self._incoming = root / "incoming" / node
        self._waiting = root / "waiting"
        self._withheld = root / "withheld"

    def path(self, name: str) -> Path:
        """Return the path of a served file."""
        return self.root / name[:2] / name

    def waiting(self, id: int) -> Path:
        """Return the path of an attachment's waiting upload."""
        return self._waiting / str(id)

    def incoming(self, key: str) -> Path:
        """Return the folder in which files are made of an upload."""
        return self._incoming / key

    def begin(self, key: str) -> Path:
        """Make an empty folder for an upload's files."""
        place = self.incoming(key)
        place.mkdir(parents=True)
        return place

    def stage(self, key: str, upload: IO[bytes]) -> Path:
        """Make a folder with the upload in it, as `source`."""
        place = self.begin(key)
        with (place / "source").open("wb") as file:
            shutil.copyfileobj(upload, file, COPIED_AT_ONCE)
        return place

    def publish(self, key: str, names: Iterable[str]) -> None:
        """Move finished files to the served ones, so that they also survive a power cut."""
        for name in names:
            target = self.path(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            _flush(self._incoming / key / name)
            (self._incoming / key / name).replace(target)
            _flush(target.parent)

    def put_off(self, key: str, id: int) -> None:
        """Keep the upload itself until it is processed."""
        self._waiting.mkdir(parents=True, exist_ok=True)
        source = self._incoming / key / "source"
        _flush(source)
        source.replace(self.waiting(id))
        _flush(self._waiting)

    def clear(self, key: str) -> None:
        """Remove the folder of a finished upload."""
        shutil.rmtree(self._incoming / key, ignore_errors=True)

    def withhold(self, names: Iterable[str]) -> None:
        """Move served files to a place from which they are not served. Missing files are no error."""
        for name in names:
            _move(self.path(name), self.withheld(name))

    def release(self, names: Iterable[str]) -> None:
        """Serve files again that were withheld. Missing files are no error."""
        for name in names:
            _move(self.withheld(name), self.path(name))

    def withheld(self, name: str) -> Path:
        """Return the path of a file that is not served for now."""
        return self._withheld / name[:2] / name

    def remove(self, names: Iterable[str]) -> None:
        """Remove served and withheld files and waiting uploads. Missing files are no error."""
        for name in names:
            if NAME.fullmatch(name):
                # The first place once more: the file may have been moved back meanwhile.
                for path in (self.path(name), self.withheld(name), self.path(name)):
                    path.unlink(missing_ok=True)
            elif upload := WAITING.fullmatch(name):
                self.forget(int(upload[1]))

    def size(self, name: str) -> int | None:
        """Return the bytes of a served or withheld file or a waiting upload. None if it is not there."""
        for path in self._places(name):
            with suppress(FileNotFoundError):
                return path.stat().st_size
        return None

    def read(self, name: str) -> IO[bytes] | None:
        """Open a served or withheld file or a waiting upload. None if it is not there."""
        # The first place once more, as in `remove`.
        for path in (*(places := self._places(name)), places[0]):
            with suppress(FileNotFoundError):
                return path.open("rb")
        return None

    def place(self, name: str, *, withheld: bool) -> str:
        """Return the path of a file below the media folder, where the server expects it."""
        upload = WAITING.fullmatch(name)
        path = self.waiting(int(upload[1])) if upload else self.withheld(name) if withheld else self.path(name)
        return path.relative_to(self.root).as_posix()

    def _places(self, name: str) -> tuple[Path, ...]:
        upload = WAITING.fullmatch(name)
        return (self.waiting(int(upload[1])),) if upload else (self.path(name), self.withheld(name))

    def forget(self, id: int) -> None:
        """Remove the waiting upload of an attachment."""
        self.waiting(id).unlink(missing_ok=True)

    def give_to(self, owner: Path, keys: Iterable[str], names: Iterable[str]) -> None:
        """Give what was made by root to the owner of another folder, with the folders that it is in."""
        state = owner.stat()
        files = [self.path(name) for name in names]
        folders = [self._incoming.parent, self._incoming, *map(self.incoming, keys), *(file.parent for file in files)]
        for path in dict.fromkeys((self.root, *folders, *files)):
            os.chown(path, state.st_uid, state.st_gid, follow_symlinks=False)

    def adopt(self) -> None:
        """Move the unfinished uploads of an earlier version, which had one folder for all nodes, to this node's."""
        for entry in _entries(self._incoming.parent, None):
            if not NODE_NAME.fullmatch(entry.name):
                self._incoming.mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):  # another node was first
                    Path(entry.path).replace(self._incoming / entry.name)

    def unfinished(self, before: datetime | None = None) -> list[str]:
        """Return the keys of this node's unfinished uploads; with `before`, only of those not changed since."""
        return [place.name for place in _entries(self._incoming, before)]

    def published(self, key: str) -> list[str]:
        """Return the published files of an upload."""
        return [file.name for file in self.path(key).parent.glob(f"{glob.escape(key)}*")]

    def uploads_waiting(self, before: datetime) -> list[int]:
        """Return the attachments whose uploads wait at any node and have not changed since `before`."""
        return [int(file.name) for file in _entries(self._waiting, before) if file.name.isdecimal()]


def _move(source: Path, target: Path) -> None:
    """Move a file so that it also survives a power cut."""
    if not source.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # removed or moved meanwhile
        source.replace(target)
        _flush(target.parent)


def _entries(folder: Path, before: datetime | None) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if before is None or _is_older(entry, before)]
    except FileNotFoundError:
        return []


def _is_older(entry: os.DirEntry[str], before: datetime) -> bool:
    """True if an entry has not changed since `before`. False if it was removed meanwhile."""
    try:
        return entry.stat().st_mtime < before.timestamp()
    except FileNotFoundError:
        return False


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

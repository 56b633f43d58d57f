"""Files of media on this machine's disk, below the data folder: each has a random name and never changes.

    media/4f/4f01….jpg      what is served
    media/incoming/4f01…/   an upload that is being made into files; whatever is left here was left by a crash
    media/waiting/1103      an upload that waits for its turn, named by its attachment

All functions here wait for the disk: they are called in threads.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import IO

NAME = re.compile(r"[0-9a-f]{32}(-small)?\.[a-z0-9]{2,4}")
# A waiting upload, among the names of an attachment's files.
WAITING = re.compile(r"waiting/([0-9]{1,19})")

COPIED_AT_ONCE = 1024 * 1024


class Folder:
    """The media folder of a server."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._incoming = root / "incoming"
        self._waiting = root / "waiting"

    def path(self, name: str) -> Path:
        """Where a served file is."""
        return self.root / name[:2] / name

    def waiting(self, id: int) -> Path:
        """Where the upload of an attachment waits."""
        return self._waiting / str(id)

    def incoming(self, key: str) -> Path:
        """Where files are made of an upload."""
        return self._incoming / key

    def begin(self, key: str) -> Path:
        """An empty folder for making files."""
        place = self.incoming(key)
        place.mkdir(parents=True)
        return place

    def stage(self, key: str, upload: IO[bytes]) -> Path:
        """A folder for making files of an upload, which lies in it as `source`."""
        place = self.begin(key)
        with (place / "source").open("wb") as file:
            shutil.copyfileobj(upload, file, COPIED_AT_ONCE)
        return place

    def publish(self, key: str, names: Iterable[str]) -> None:
        """Bring finished files where they are served; to stay when power fails, too."""
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
        """The upload is dealt with."""
        shutil.rmtree(self._incoming / key, ignore_errors=True)

    def remove(self, names: Iterable[str]) -> None:
        """Remove served files and waiting uploads. Files that are gone already are no error."""
        for name in names:
            if NAME.fullmatch(name):
                self.path(name).unlink(missing_ok=True)
            elif upload := WAITING.fullmatch(name):
                self.forget(int(upload[1]))

    def forget(self, id: int) -> None:
        """Remove the waiting upload of an attachment."""
        self.waiting(id).unlink(missing_ok=True)

    def unfinished(self, before: datetime | None = None) -> list[str]:
        """The keys of uploads that were not made into files; with `before`, of those that have not changed since."""
        return [place.name for place in _entries(self._incoming, before)]

    def published(self, key: str) -> list[str]:
        """The files that were published of an upload."""
        return [file.name for file in self.path(key).parent.glob(f"{glob.escape(key)}*")]

    def uploads_waiting(self, before: datetime | None = None) -> list[int]:
        """The attachments whose uploads wait here; with `before`, of those that have not changed since."""
        return [int(file.name) for file in _entries(self._waiting, before) if file.name.isdecimal()]


def _entries(folder: Path, before: datetime | None) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if before is None or entry.stat().st_mtime < before.timestamp()]
    except FileNotFoundError:
        return []


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

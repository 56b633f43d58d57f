"""Media files on their way: uploads in processing lie on this machine's disk, below the data folder.

    media/incoming/main/4f01…/   an upload in processing by the node `main`; after its restart, left over by a crash
    media/incoming/command-line/ the same by a command, until its rows are stored
    media/waiting/1103           a waiting upload, named by its attachment

Finished files are in a store (`media_stores.py`): by default in the same folder. Several nodes may use one folder.
Nodes on several machines have a folder each, and need a bucket for the finished files, because each node serves and
removes the files of all nodes. A waiting upload stays on the machine that has received it: if a node on another machine
deletes its row, the cleaning on the first machine removes the upload after a day.
All functions here wait for the disk or the store: they are called in threads, by `Folder.in_thread`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, TypeVar, TypeVarTuple, Unpack

import trio

from .engine.node import NODE_NAME
from .media_stores import NAME, LocalStore, MediaStore
from .upkeep.flushing import flush

# The name of a waiting upload, among an attachment's files.
WAITING = re.compile(r"waiting/([0-9]{1,19})")

COPIED_AT_ONCE = 1024 * 1024
COMMANDS = "command-line"  # in the place of a node: the folder of commands that run beside the servers

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Folder:
    """The media folder of a server, as the node of this name uses it, with the store of its finished files.

    Without a store they are in the folder too.
    """

    def __init__(self, root: Path, node: str, store: MediaStore | None = None) -> None:
        self.root = root
        self.node = node
        self.store: MediaStore = store or LocalStore(root)
        self._incoming = root / "incoming" / node
        self._waiting = root / "waiting"

    async def in_thread(self, work: Callable[[Unpack[Arguments]], T], *arguments: *Arguments) -> T:
        """Return the result of a function that waits for the store, called in a thread."""
        return await trio.to_thread.run_sync(work, *arguments, limiter=self.store.limiter)

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

    def publish(self, key: str, names: Iterable[str]) -> int:
        """Give finished files to the store. Return their bytes."""
        files = [self._incoming / key / name for name in names]
        size = sum(file.stat().st_size for file in files)
        for file in files:
            self.store.put(file.name, file)
        return size

    def put_off(self, key: str, id: int) -> None:
        """Keep the upload itself until it is processed."""
        self._waiting.mkdir(parents=True, exist_ok=True)
        source = self._incoming / key / "source"
        flush(source)
        source.replace(self.waiting(id))
        flush(self._waiting)

    def clear(self, key: str) -> None:
        """Remove the folder of a finished upload."""
        shutil.rmtree(self._incoming / key, ignore_errors=True)

    def withhold(self, names: Iterable[str]) -> None:
        """Serve files no more. Missing files are no error."""
        for name in names:
            self.store.withhold(name)

    def release(self, names: Iterable[str]) -> None:
        """Serve files again that were withheld. Missing files are no error."""
        for name in names:
            self.store.release(name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove finished files and waiting uploads. Missing files are no error."""
        names = list(names)
        if finished := [name for name in names if NAME.fullmatch(name)]:
            self.store.remove(finished)
        for name in names:
            if upload := WAITING.fullmatch(name):
                self.forget(int(upload[1]))

    def size_waiting(self, name: str) -> int | None:
        """Return the bytes of a waiting upload, by its name among an attachment's files. None if it is not there."""
        upload = WAITING.fullmatch(name)
        with suppress(FileNotFoundError):
            return self.waiting(int(upload[1])).stat().st_size if upload else None
        return None

    def read(self, name: str) -> IO[bytes] | None:
        """Open a finished file, served or withheld, or a waiting upload. None if it is not there."""
        if (upload := WAITING.fullmatch(name)) is None:
            return self.store.open(name)
        with suppress(FileNotFoundError):
            return self.waiting(int(upload[1])).open("rb")
        return None

    def place(self, name: str, *, withheld: bool) -> str:
        """Return the path of a file below the media folder, where a server without a bucket expects it."""
        upload, store = WAITING.fullmatch(name), LocalStore(self.root)
        path = self.waiting(int(upload[1])) if upload else store.withheld(name) if withheld else store.path(name)
        return path.relative_to(self.root).as_posix()

    def forget(self, id: int) -> None:
        """Remove the waiting upload of an attachment."""
        self.waiting(id).unlink(missing_ok=True)

    def give_to(self, owner: Path, keys: Iterable[str], names: Iterable[str]) -> None:
        """Give a file that root made, with the folders above it, to the owner of another folder."""
        state = owner.stat()
        files = [self.store.path(name) for name in names] if isinstance(self.store, LocalStore) else []
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
        """Return the keys of this node's unfinished uploads; with `before`, only of uploads not changed since."""
        return [place.name for place in _entries(self._incoming, before)]

    def published(self, key: str) -> list[str]:
        """Return the published files of an upload."""
        return self.store.made_of(key)

    def uploads_waiting(self, before: datetime) -> list[int]:
        """Return the attachments whose uploads wait at any node and have not changed since `before`."""
        return [int(file.name) for file in _entries(self._waiting, before) if file.name.isdecimal()]


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

"""The stores of finished media files: on this machine's disk, or in a bucket (`buckets.py`). Both are a `MediaStore`.

A file has a random name and never changes. It is served, or withheld because its account is suspended.

    media/4f/4f01….jpg           a served file on the disk
    media/withheld/4f/4f01….jpg  a withheld file

All methods wait for the disk or the network: they are called in threads, by `Folder.in_thread`.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple, Protocol

from .upkeep.flushing import flush

if TYPE_CHECKING:
    import trio

NAME = re.compile(r"[0-9a-f]{32}(-small)?\.[a-z0-9]{2,4}")
READ_AT_ONCE = 256 * 1024

StoreName = Literal["local", "s3"]


class StoredFile(NamedTuple):
    """A file of a store."""

    name: str
    size: int
    withheld: bool


class MediaStore(Protocol):
    """A store of finished media files. A missing file is no error, except for `read` and `fetch`.

    Raises OSError if the disk or the network fails; `machine_fault` knows the cause.
    """

    @property
    def limiter(self) -> trio.CapacityLimiter | None:
        """The limit for threads that wait for the store. None: all threads may."""
        ...

    def put(self, name: str, source: Path, *, withheld: bool = False) -> None:
        """Store a finished file. It is there as a whole or not at all, also after a power cut. May move the source."""
        ...

    def withhold(self, name: str) -> None:
        """Serve a file no more."""
        ...

    def release(self, name: str) -> None:
        """Serve a withheld file again."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, served or withheld."""
        ...

    def size(self, name: str, opened: Callable[[int], object] | None = None) -> int | None:
        """Return the bytes of a served file that can be read, or None.

        If a file is opened for that, `opened` gets its descriptor, and may raise.
        """
        ...

    def read(self, name: str, start: int, length: int) -> Generator[bytes]:
        """Return a part of a served file in pieces, which the caller closes. Raises FileNotFoundError."""
        ...

    def fetch(self, file: StoredFile, target: Path) -> None:
        """Copy a file to a path, for another store. Raises FileNotFoundError."""
        ...

    def open(self, name: str) -> IO[bytes] | None:
        """Open a file, served or withheld. None if it is not there."""
        ...

    def made_of(self, key: str) -> list[str]:
        """Return the names of the served files that were made of an upload."""
        ...

    def files(self) -> Iterator[StoredFile]:
        """Return all files."""
        ...


class LocalStore:
    """Files on this machine's disk, below the data folder."""

    limiter: trio.CapacityLimiter | None = None

    def __init__(self, root: Path) -> None:
        self._root = root
        self._withheld = root / "withheld"

    def path(self, name: str) -> Path:
        """Return the path of a served file."""
        return self._root / name[:2] / name

    def withheld(self, name: str) -> Path:
        """Return the path of a file that is not served for now."""
        return self._withheld / name[:2] / name

    def put(self, name: str, source: Path, *, withheld: bool = False) -> None:
        target = self.withheld(name) if withheld else self.path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        flush(source)
        source.replace(target)
        flush(target.parent)

    def withhold(self, name: str) -> None:
        _move(self.path(name), self.withheld(name))

    def release(self, name: str) -> None:
        _move(self.withheld(name), self.path(name))

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            # The first place once more: the file may have been moved back meanwhile.
            for path in (self.path(name), self.withheld(name), self.path(name)):
                path.unlink(missing_ok=True)

    def size(self, name: str, opened: Callable[[int], object] | None = None) -> int | None:
        try:
            with self.path(name).open("rb") as file:
                if opened is not None:
                    opened(file.fileno())
                return os.fstat(file.fileno()).st_size
        except (FileNotFoundError, PermissionError):
            return None

    def read(self, name: str, start: int, length: int) -> Generator[bytes]:
        with self.path(name).open("rb") as file:
            file.seek(start)
            while length > 0 and (data := file.read(min(length, READ_AT_ONCE))):
                length -= len(data)
                yield data

    def fetch(self, file: StoredFile, target: Path) -> None:
        source = self.withheld(file.name) if file.withheld else self.path(file.name)
        try:
            target.hardlink_to(source)
        except FileNotFoundError:
            raise
        except OSError:  # another disk, or a disk without links
            shutil.copyfile(source, target)

    def open(self, name: str) -> IO[bytes] | None:
        # The first place once more, as in `remove`.
        for path in (self.path(name), self.withheld(name), self.path(name)):
            with suppress(FileNotFoundError):
                return path.open("rb")
        return None

    def made_of(self, key: str) -> list[str]:
        return [file.name for file in self.path(key).parent.glob(f"{glob.escape(key)}*")]

    def files(self) -> Iterator[StoredFile]:
        for root, withheld in ((self._root, False), (self._withheld, True)):
            for path in root.glob("[0-9a-f][0-9a-f]/*"):
                with suppress(FileNotFoundError):  # removed meanwhile
                    if NAME.fullmatch(path.name):
                        yield StoredFile(path.name, path.stat().st_size, withheld)


def _move(source: Path, target: Path) -> None:
    """Move a file so that it also survives a power cut."""
    if not source.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):  # removed or moved meanwhile
        source.replace(target)
        flush(target.parent)

"""A folder with backups. Each file in it is complete as soon as it has its name, and never changes."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ...storage.upkeep.flushing import flush, flush_disk
from .errors import BackupFailed
from .manifest import BackedUpFile, Manifest, read, written

MANIFEST = ".manifest"
DUMP = ".dump"
PART = ".part"
NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?")
FILES = "files"
JOURNAL = "unfinished"
LOCK = "lock"
BUSY = "Another command works on the backups in {}."
PIECE = 1024 * 1024
# Stored files that are noted in the journal together, after they have reached the disk.
AT_ONCE = 1000
BYTES_AT_ONCE = 256 * 1024**2

Progress = Callable[[int], None]


class BackupFolder:
    """The folder. Call `held` around changes of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._unnoted: dict[str, BackedUpFile] = {}

    @contextmanager
    def held(self) -> Generator[None]:
        """Make the folder if need be, and keep other commands from changing it. Raises BackupFailed."""
        if self.root.is_dir() and any(self.root.iterdir()) and not (self.root / LOCK).exists():
            raise BackupFailed(f"{self.root} has other files in it. Choose an empty folder, or one with backups.")
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked(os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX):
            yield

    @contextmanager
    def read(self) -> Generator[None]:
        """Keep a backup from being made meanwhile. The folder may be read-only."""
        with self._locked(os.O_RDONLY, fcntl.LOCK_SH):
            yield

    @contextmanager
    def _locked(self, flags: int, lock: int) -> Generator[None]:
        """Hold the lock of the folder. Raises BackupFailed if it has no backup, or another command holds the lock."""
        try:
            descriptor = os.open(self.root / LOCK, flags, 0o600)
        except FileNotFoundError:
            raise BackupFailed(f"There is no backup in {self.root}.") from None
        try:
            try:
                fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackupFailed(BUSY.format(self.root)) from None
            yield
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        """Return the names of all whole backups, the oldest first."""
        return sorted(file.stem for file in self.root.glob(f"*{MANIFEST}") if NAME.fullmatch(file.stem))

    def newest(self) -> str:
        """Return the name of the newest backup. Raises BackupFailed if there is none."""
        if not (names := self.names()):
            raise BackupFailed(f"There is no whole backup in {self.root}.")
        return names[-1]

    def manifest(self, name: str) -> Manifest:
        """Return the manifest of a backup. Raises BackupFailed."""
        return read(self.root / f"{name}{MANIFEST}")

    def dump(self, name: str) -> Path:
        """Return the path of a backup's dump."""
        return self.root / f"{name}{DUMP}"

    def removal(self, name: str) -> str:
        """Return the command that removes a backup. Files that other backups need stay."""
        return f"rm -f {shlex.quote(str(self.root / name))}.*"

    def content(self, digest: str) -> Path:
        """Return the path of the contents of a file."""
        return self.root / FILES / digest[:2] / digest

    def has(self, file: BackedUpFile) -> bool:
        """Return True if the contents are there and have the right size."""
        try:
            return self.content(file.digest).stat().st_size == file.size
        except FileNotFoundError:
            return False

    def store(self, key: str, source: IO[bytes]) -> tuple[BackedUpFile, bool]:
        """Store the contents of an open file. Return the file, and whether it is new. The journal names it `key`."""
        part = self.root / FILES / f"{key.replace('/', '-')}{PART}"
        part.parent.mkdir(exist_ok=True)
        try:
            with part.open("wb") as copy:
                digest, size = copied(source, copy)
            file = BackedUpFile(size, os.fstat(source.fileno()).st_mtime_ns, digest)
            if new := not self.has(file):
                self.content(digest).parent.mkdir(exist_ok=True)
                part.replace(self.content(digest))
        finally:
            part.unlink(missing_ok=True)
        self._unnoted[key] = file
        if len(self._unnoted) >= AT_ONCE or sum(copy.size for copy in self._unnoted.values()) >= BYTES_AT_ONCE:
            self.write_journal()
        return file, new

    def write_journal(self) -> None:
        """Note stored files after they have reached the disk, so that a run can go on after an interruption."""
        if not self._unnoted:
            return
        flush_disk(self.root)
        with (self.root / JOURNAL).open("ab") as journal:
            for key, file in self._unnoted.items():
                journal.write(json.dumps([key, file.size, file.changed, file.digest]).encode() + b"\n")
            journal.flush()
            os.fsync(journal.fileno())
        self._unnoted.clear()

    def journal(self) -> dict[str, BackedUpFile]:
        """Return the files that an interrupted run has stored."""
        try:
            lines = (self.root / JOURNAL).read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        return dict(_noted(lines))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest: from then on the backup exists."""
        part = self.root / f"{manifest.name}{MANIFEST}{PART}"
        with part.open("wb") as file:
            for line in written(manifest):
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.root / f"{manifest.name}{MANIFEST}")
        flush(self.root)
        (self.root / JOURNAL).unlink(missing_ok=True)

    def keep(self, number: int) -> None:
        """Remove all but the newest backups, and all that no backup names."""
        names = self.names()
        for name in names[:-number]:
            (self.root / f"{name}{MANIFEST}").unlink()
            self.dump(name).unlink(missing_ok=True)
        flush(self.root)
        self.clear_parts()
        known = {file.digest for name in names[-number:] for file in self.manifest(name).files.values()}
        for path in (self.root / FILES).glob("*/*"):
            if path.name not in known:
                path.unlink()

    def clear_parts(self) -> None:
        """Remove the incomplete files of an interrupted run, and dumps without a manifest."""
        names = self.names()
        for path in (*self.root.glob(f"*{PART}"), *(self.root / FILES).glob(f"*{PART}")):
            path.unlink()
        for path in self.root.glob(f"*{DUMP}"):
            if path.stem not in names:
                path.unlink()


def copied(source: IO[bytes], target: IO[bytes] | None, progress: Progress = lambda size: None) -> tuple[str, int]:
    """Copy a file, or only read it. Return its SHA-256 and its size. `progress` is called with numbers of bytes."""
    whole, size = hashlib.sha256(), 0
    while piece := source.read(PIECE):
        whole.update(piece)
        size += len(piece)
        if target is not None:
            target.write(piece)
        progress(len(piece))
    return whole.hexdigest(), size


def reread(path: Path, progress: Progress) -> tuple[str, int]:
    """Return the SHA-256 and the size of a file as it is on the disk, not in the page cache."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return copied(file, None, progress)


def _noted(lines: Iterable[bytes]) -> Generator[tuple[str, BackedUpFile]]:
    for line in lines:
        try:
            key, size, changed, digest = json.loads(line)
        except ValueError:
            return  # the run was killed while it wrote this line
        yield key, BackedUpFile(size, changed, digest)

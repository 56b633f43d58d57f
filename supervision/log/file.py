"""The log in a file: cut into pieces of a size, of which a number is kept, and found again when it was moved away.

`troupe.log` is the newest piece, `troupe.log.1` the piece before it. If another program moves the file, as logrotate
does, the next line goes to a new file at the path. No signal is needed for that, so logrotate needs no script: a signal
would have to find the process, and a line between the move and the signal would still go to the moved file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MIB = 1024 * 1024
OPEN = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


class LogFile:
    """The file at a path. Not safe for several threads: one thread writes the log."""

    def __init__(self, path: Path, size: int, count: int) -> None:
        """`size` is the number of bytes after which a new file begins, `count` the number of older files that are kept.

        Raises OSError if the file can't be opened, so that a wrong path is seen at the start.
        """
        self._path = path
        self._size = size
        self._count = count
        self._descriptor = os.open(path, OPEN, 0o600)

    def write(self, line: bytes) -> None:
        """Write a line, whole or not at all. Raises OSError if that fails, for example on a full disk."""
        self._follow()
        if os.fstat(self._descriptor).st_size + len(line) > self._size:
            self._rotate()
        before = os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, line) < len(line):
                raise OSError("the disk took a part of the line")
        except OSError:
            # The next line would otherwise be written behind a part of this line.
            with suppress(OSError):
                os.ftruncate(self._descriptor, before)
            raise

    def close(self) -> None:
        os.close(self._descriptor)

    def _follow(self) -> None:
        """Open the path again if the file is not there any more."""
        mine = os.fstat(self._descriptor)
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return self._reopen()
        if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
            self._reopen()
        return None

    def _rotate(self) -> None:
        """Begin a new file. If that fails, the old file grows on: a log that is too long is better than none."""
        with suppress(OSError):
            for number in range(self._count, 0, -1):
                with suppress(FileNotFoundError):
                    os.replace(self._older(number - 1), self._older(number))
            if not self._count:
                self._path.unlink()
            self._reopen()

    def _older(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _reopen(self) -> None:
        new = os.open(self._path, OPEN, 0o600)
        os.close(self._descriptor)
        self._descriptor = new

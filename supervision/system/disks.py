"""Free space on the disks that the server writes to. It is reported before PostgreSQL or an upload finds a full disk.

The disk of an external PostgreSQL can't be seen from here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import trio

from ...actors.kernel import Record

MIB = 1024 * 1024

# PostgreSQL's log may grow by 1 GiB (its `max_wal_size`) before it is cut, and two films of 99 MiB may be made into
# files of 256 MiB at the same time: 1.7 GiB in all. Below 2 GiB, the work of an ordinary hour may fill the disk.
LOW = 2048 * MIB
WELL = 2560 * MIB  # more than LOW, so that a disk near the threshold is not reported again and again
FEWEST_FILES = 10_000  # files that can still be made: a file system may have free bytes and no free inodes
# Below these a disk is full: PostgreSQL writes its log in files of 16 MiB.
FULL = 32 * MIB
NO_FILES = 16
LOOK_EVERY = 30.0  # seconds
REPORT_AGAIN = 3600.0  # seconds between two records of a disk that stays low


@dataclass(frozen=True, slots=True)
class DiskRoom:
    """Bytes of a disk."""

    free: int
    size: int


class Disks:
    """Checks the file systems of some folders, by name, such as `data`."""

    def __init__(self, folders: Mapping[str, Path], record: Record) -> None:
        self._folders = folders
        self._record = record
        self._rooms: dict[str, str] = {}
        self.measured: dict[str, DiskRoom] = {}  # by the name of the first folder on each disk
        self._low: dict[str, float] = {}  # the disks that are low, and when that was last reported

    async def run(self, stopping: trio.Event, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Check at intervals, until `stopping`."""
        await self.look()
        task_status.started()
        while not stopping.is_set():
            with trio.move_on_after(LOOK_EVERY):
                await stopping.wait()
                return
            await self.look()

    def inspect(self) -> dict[str, object]:
        """Return the room on each disk and the names of low disks, for operators."""
        return {**self._rooms, **({"low": list(self._low)} if self._low else {})}

    def is_full(self) -> bool:
        """True if a disk is full at this moment. It asks the kernel, so it is called in a thread."""
        return any(map(_is_full, self._folders.values()))

    async def look(self) -> None:
        """Check once, and report changes."""
        seen: set[int] = set()
        for name, folder in self._folders.items():
            try:
                device, room = await trio.to_thread.run_sync(_measure, folder)
            except FileNotFoundError:
                continue  # no file was written there yet
            except OSError as error:
                self._rooms[name] = str(error)
                self._report(name, low=True, error=str(error))
                continue
            if device in seen:
                self._rooms.pop(name, None)
                self._low.pop(name, None)
                self.measured.pop(name, None)
                continue
            seen.add(device)
            self.measured[name] = DiskRoom(room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize)
            self._rooms[name] = (
                f"{size_text(room.f_bavail * room.f_frsize)} free of {size_text(room.f_blocks * room.f_frsize)}"
            )
            self._check_room(name, room)

    def _check_room(self, name: str, room: os.statvfs_result) -> None:
        free = room.f_bavail * room.f_frsize
        # A file system that makes inodes as needed reports that it has none.
        few_files = room.f_files > 0 and room.f_favail < FEWEST_FILES
        if free < LOW or few_files:
            text = f"{room.f_favail} more files can be made" if few_files and free >= LOW else self._rooms[name]
            self._report(name, low=True, error=f"{name}: {text}")
        elif free >= WELL and not few_files:
            self._report(name, low=False, error=f"{name}: {self._rooms[name]}")

    def _report(self, name: str, *, low: bool, error: str) -> None:
        now = trio.current_time()
        if low and now - self._low.get(name, -REPORT_AGAIN) >= REPORT_AGAIN:
            self._low[name] = now
            self._record("disk.low", child="disks", error=error, decision="free some space before it is full")
        elif not low and self._low.pop(name, None) is not None:
            self._record("disk.well", child="disks", error=error)


def _measure(folder: Path) -> tuple[int, os.statvfs_result]:
    return folder.stat().st_dev, os.statvfs(folder)


def _is_full(folder: Path) -> bool:
    try:
        room = os.statvfs(folder)
    except FileNotFoundError:
        return False  # no file was written there yet
    except OSError:
        return True  # a disk that can't be asked can't be written either
    return room.f_bavail * room.f_frsize < FULL or (room.f_files > 0 and room.f_favail < NO_FILES)


def size_text(count: int) -> str:
    """Return a number of bytes for people."""
    return f"{count / 1024 / MIB:.1f} GiB" if count >= 1024 * MIB else f"{count / MIB:.0f} MiB"

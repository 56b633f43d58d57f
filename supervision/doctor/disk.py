"""The disks that the server writes to: whether they have room."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...actors.configuration import LogSettings, Settings
from ..system.disks import FEWEST_FILES, LOW, MIB, size_text
from .findings import Examination, Finding

SUBJECT = "disk"
MEDIA = "`troupe media usage` shows the size of media, and `troupe media budget` limits what can be fetched again."


def check_disk(examination: Examination) -> Iterator[Finding]:
    """Look at each disk once, under the names of the folders on it."""
    settings, disks = examination.sources.settings, dict[int, dict[str, Path]]()
    for name, folder in _folders(settings).items():
        there = _nearest(folder)
        disks.setdefault(there.stat().st_dev, {})[name] = there
    for folders in disks.values():
        yield evaluate(settings, folders, os.statvfs(next(iter(folders.values()))))


def evaluate(settings: Settings, folders: Mapping[str, Path], room: os.statvfs_result) -> Finding:
    """Return the finding about a disk with some folders."""
    free, size = room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize
    text = f"{', '.join(folders)} ({next(iter(folders.values()))}): {size_text(free)} free of {size_text(size)}"
    cure = f"Free some space, or make the disk larger. {' '.join(_advice(settings, folders))}"
    if free < LOW:
        return Finding(SUBJECT, "wrong", f"{text}; an hour of work may need {size_text(LOW)}", cure)
    # A file system that makes inodes as needed reports that it has none.
    if room.f_files > 0 and room.f_favail < FEWEST_FILES:
        return Finding(SUBJECT, "wrong", f"{text}, but only {room.f_favail} more files can be made", cure)
    return Finding(SUBJECT, "good", text)


def _advice(settings: LogSettings, folders: Mapping[str, Path]) -> Iterator[str]:
    if "media" in folders:
        yield MEDIA
    if "log" in folders:
        log = settings.log_path
        sizes = [file.stat().st_size for file in folders["log"].glob(f"{glob.escape(log.name)}*")]
        most = settings.log_file_size * MIB * (settings.log_files + 1)
        yield (
            f"The log {log} and the older files beside it take {size_text(sum(sizes))}, and may take {size_text(most)}:"
            " remove old ones, lower log_files or log_file_size, or name another disk by log_file."
        )


def _folders(settings: Settings) -> Mapping[str, Path]:
    data = settings.data
    folders = {"data": data, "media": data / "media"}
    if not settings.database_url:
        folders["database"] = data / "postgres"
    if settings.log_to == "file":
        folders["log"] = settings.log_path.parent
    return folders


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest existing folder above it."""
    return folder if folder.exists() else _nearest(folder.parent)

"""The disks that the server writes to: whether they have room."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..configuration import Settings
from ..disks import FEWEST_FILES, LOW, size_text
from .findings import Examination, Finding

SUBJECT = "disk"
CURE = (
    "Free some space, or make the disk larger. `troupe media usage` shows what media take, and `troupe media budget`"
    " bounds what can be fetched again."
)


def check_disk(examination: Examination) -> Iterator[Finding]:
    """Look at each disk once, under the name of the first folder on it."""
    seen: set[int] = set()
    for name, folder in _folders(examination.sources.settings).items():
        there = _nearest(folder)
        device = there.stat().st_dev
        if device not in seen:
            seen.add(device)
            yield judge(name, os.statvfs(there))


def judge(name: str, room: os.statvfs_result) -> Finding:
    """Return what there is to say of one disk."""
    free, size = room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize
    text = f"{name}: {size_text(free)} free of {size_text(size)}"
    if free < LOW:
        return Finding(SUBJECT, "wrong", f"{text}; an hour of work may need {size_text(LOW)}", CURE)
    # A file system that makes inodes as needed reports that it has none.
    if room.f_files > 0 and room.f_favail < FEWEST_FILES:
        return Finding(SUBJECT, "wrong", f"{text}, but only {room.f_favail} more files can be made", CURE)
    return Finding(SUBJECT, "good", text)


def _folders(settings: Settings) -> Mapping[str, Path]:
    data = settings.data
    folders = {"data": data, "media": data / "media"}
    if not settings.database_url:
        folders["database"] = data / "postgres"
    if settings.log_to == "file":
        folders["log"] = settings.log_path.parent
    return folders


def _nearest(folder: Path) -> Path:
    """Return the folder, or the one above it in which it would be made."""
    return folder if folder.exists() else _nearest(folder.parent)

"""Moving media files from one store to the other, while the server runs.

First the server still uses the store that they are in. Then they are copied, so that the other store has what this one
has. Once the server uses the other store, a second run brings what was missing and removes the files that are left.
An interrupted run is taken up by the next one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from ...actors.kernel.ids import Ids
from ...storage import media
from ...storage.engine.database import Connection
from ...storage.files import COMMANDS, Folder
from ...storage.media_stores import MediaStore, StoredFile, StoreName
from ..configuration import Settings
from ..media_folders import media_store
from .rows import transactions

AT_ONCE = 8
BATCH = 200


@dataclass(slots=True)
class Moved:
    """The numbers of files that were brought to the new store and that were removed."""

    brought: int = 0
    bytes: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class MediaMove:
    """The two stores, and what the new one has. `live`: the server uses the new store."""

    old: MediaStore
    new: MediaStore
    there: dict[str, StoredFile]
    live: bool

    def lacks(self, file: StoredFile) -> bool:
        """True if the new store has not what it should have. Once it is live, it is right about what it has."""
        known = self.there.get(file.name)
        return known is None or (known != file and not self.live)

    def bring(self, place: Path, file: StoredFile) -> bool:
        """Bring a file to the new store, if it lacks it. Return whether it did."""
        if not self.lacks(file):
            return False
        copy = place / file.name
        try:
            self.old.fetch(file, copy)
            self.new.put(file.name, copy, withheld=file.withheld)
        except FileNotFoundError:
            return False  # removed or moved meanwhile
        finally:
            copy.unlink(missing_ok=True)
        if file.name in self.there and self.there[file.name].withheld != file.withheld:
            (self.new.withhold if file.withheld else self.new.release)(file.name)
        return True


def dry_run_move(settings: Settings, to: StoreName) -> Moved:
    """Return how many files `move` would bring and remove. Raises OSError when a store fails."""
    moving = _move(settings, to)
    files = list(moving.old.files())
    with transactions(settings) as transact:
        known = transact(_known, [file.name for file in files]) if moving.live else {file.name for file in files}
    lacking = [file for file in files if file.name in known and moving.lacks(file)]
    removed = len(files) if moving.live else len(moving.there.keys() - known)
    return Moved(len(lacking), sum(file.size for file in lacking), removed)


def _move(settings: Settings, to: StoreName) -> MediaMove:
    old, new = media_store(settings, "s3" if to == "local" else "local"), media_store(settings, to)
    return MediaMove(old, new, {file.name: file for file in new.files()}, settings.media_store == to)


def move(settings: Settings, to: StoreName, progress: Callable[[int], None]) -> Moved:
    """Move all files to a store. `progress` is told how many files are done.

    Raises OSError when a store fails: what was done until then stays done.
    """
    moving = _move(settings, to)
    old, new = moving.old, moving.new
    folder = Folder(settings.data / "media", COMMANDS, new)
    files, moved, key = list(old.files()), Moved(), secrets.token_hex(16)
    place = folder.begin(key)
    try:
        with transactions(settings) as transact, ThreadPoolExecutor(AT_ONCE) as threads:
            for start in range(0, len(files), BATCH):
                batch = files[start : start + BATCH]
                names = [file.name for file in batch]
                known = transact(_known, names) if moving.live else {*names}
                wanted = [file for file in batch if file.name in known]
                brought = [
                    file
                    for file, new_there in zip(wanted, threads.map(partial(moving.bring, place), wanted), strict=True)
                    if new_there
                ]
                moved.brought += len(brought)
                moved.bytes += sum(file.size for file in brought)
                if os.geteuid() == 0:  # the server may run as another user, who could not read the files of root
                    folder.give_to(settings.data, [key], [file.name for file in brought if not file.withheld])
                if moving.live:
                    old.remove(names)
                    moved.removed += len(names)
                progress(len(batch))
    finally:
        folder.clear(key)
    if not moving.live:
        extra = moving.there.keys() - {file.name for file in files}
        new.remove(extra)
        moved.removed = len(extra)
    return moved


async def _known(db: Connection, names: Sequence[str], ids: Ids, now: datetime) -> set[str]:
    """Return those of these files that a row names: others were deleted since."""
    return await media.known_files(db, names)

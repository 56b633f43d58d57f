"""`troupe media move`: move media files from one store to the other, while the server runs.

While the server still uses the old store, a run copies the files, so that the new store has them too. Once the server
uses the new store, a second run copies the files that were added meanwhile and removes the files of the old store. The
next run goes on after an interrupted run.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from .chosen_server import ChosenServer
from .options import dry_run_option, json_option, print_json, setting_options, written_size
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...actors.configuration import Settings
    from ...storage.engine.database import Connection
    from ...storage.media_stores import MediaStore, StoredFile, StoreName
    from .progress import Update
    from .rows import Here

AT_ONCE = 8
BATCH = 200


@dataclass(slots=True)
class Moved:
    """The numbers of files that were brought to the new store and that were removed."""

    brought: int = 0
    bytes: int = 0
    removed: int = 0


@click.command
@click.argument("to", type=click.Choice(["local", "s3"]))
@dry_run_option
@json_option
@setting_options("data")
def move(server: ChosenServer, to: StoreName, dry_run: bool, as_json: bool) -> None:
    """Move the files to another store, while the server runs: `s3`, a bucket, or `local`, the data folder.

    Run it twice, with the settings of the bucket. First while `media_store` still names the old store: then it copies
    the files, and removes from the new store the files that the old store lacks. Then set `media_store`, restart the
    server and run it again: it moves what was added meanwhile, and removes the files of the old store. An interrupted
    run is continued by running it again. Run it on the machine with the data folder.
    """
    from .progress import progress

    settings = server.settings
    try:
        going_on = "These are moved. Run the same command again for the others."
        with progress("Moving files", None, going_on, things="files") as update:
            moved = _dry_run(server, to) if dry_run else _move(server, to, update)
    except (OSError, ValueError) as error:
        raise CommandRefused(f"the files were not all moved: {error}") from None
    if as_json:
        print_json({"brought": moved.brought, "bytes": moved.bytes, "removed": moved.removed, "dry_run": dry_run})
    else:
        brought, removed = ("Would bring", "Would remove") if dry_run else ("Brought", "Removed")
        where = "old" if settings.media_store == to else "new"
        click.echo(f"{brought} {number_of(moved.brought, 'files')} with {written_size(moved.bytes)} to the new store")
        click.echo(f"{removed} {number_of(moved.removed, 'files')} from the {where} store")


@dataclass(frozen=True, slots=True)
class MediaMove:
    """The two stores, and the files of the new store. `live`: the server uses the new store."""

    old: MediaStore
    new: MediaStore
    there: dict[str, StoredFile]
    live: bool

    def lacks(self, file: StoredFile) -> bool:
        """True if the new store lacks a file or has another. Once it is live, its own files are right."""
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


def _dry_run(server: ChosenServer, to: StoreName) -> Moved:
    """Return how many files `move` would bring and remove. Raises OSError when a store fails."""
    moving = _stores(server.settings, to)
    files = list(moving.old.files())
    with server.transactions() as transact:
        known = transact(_known, [file.name for file in files]) if moving.live else {file.name for file in files}
    lacking = [file for file in files if file.name in known and moving.lacks(file)]
    removed = len(files) if moving.live else len(moving.there.keys() - known)
    return Moved(len(lacking), sum(file.size for file in lacking), removed)


def _stores(settings: Settings, to: StoreName) -> MediaMove:
    from ..settings.media_folders import media_store

    old, new = media_store(settings, "s3" if to == "local" else "local"), media_store(settings, to)
    return MediaMove(old, new, {file.name: file for file in new.files()}, settings.media_store == to)


def _move(server: ChosenServer, to: StoreName, progress: Update) -> Moved:
    """Move all files to a store. `progress` is called with numbers of files.

    Raises OSError when a store fails: files that were moved until then stay moved.
    """
    from concurrent.futures import ThreadPoolExecutor

    from ...storage.files import COMMANDS, Folder

    moving = _stores(server.settings, to)
    old, new = moving.old, moving.new
    folder = Folder(server.settings.data / "media", COMMANDS, new)
    files, moved, key = list(old.files()), Moved(), secrets.token_hex(16)
    place = folder.begin(key)
    try:
        with server.transactions() as transact, ThreadPoolExecutor(AT_ONCE) as threads:
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
                    folder.give_to(server.settings.data, [key], [file.name for file in brought if not file.withheld])
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


async def _known(db: Connection, here: Here, names: Sequence[str]) -> set[str]:
    """Return which of these files a row names: the others were deleted since."""
    from ...storage import media

    return await media.known_files(db, names)

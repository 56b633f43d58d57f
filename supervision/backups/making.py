"""Making a backup beside a running server (see the package for why it is whole), and checking it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from ... import __version__
from ...actors.configuration import Settings
from ...storage.engine import programs
from ...storage.engine.clients import ClientPrograms, choose
from ...storage.engine.connect import LoneConnection
from ...storage.engine.migrate import migrations, missing
from ...storage.engine.transfer import contents, snapshot
from ...storage.files import COMMANDS, Folder
from ...storage.upkeep.copies import NamedFile, named_files
from ...storage.upkeep.highest import highest_id
from ..settings.domain import NOTE
from ..settings.media_folders import media_folder
from .errors import BackupFailed, explain_full_disk
from .folder import DUMP, PART, BackupFolder, copied, reread
from .manifest import BackedUpFile, Manifest, checksum_of

# A round that copies fewer files than this takes less time than the snapshot's own queries.
FEW = 50
MOST_ROUNDS = 5  # before the first snapshot
MOST_SNAPSHOTS = 20

GOING_ON = "What is stored stays. Run the same command again: it goes on there."

# Names in the data folder that belong to a running process or to PostgreSQL.
OTHERS = ("postgres", "running-", "control-", "restoring", "media")
UNFINISHED = (".new", ".part")


class ShowProgress(Protocol):
    """Shows the progress of a part of the work. The block gets a function to call with each further amount."""

    def __call__(
        self, label: str, total: int | None, *, in_bytes: bool = False
    ) -> AbstractContextManager[Callable[[int], None]]: ...


@dataclass(frozen=True, slots=True)
class MadeBackup:
    """A backup that was made, and how much of it is new in its folder."""

    manifest: Manifest
    new_files: int
    new_bytes: int


def make_backup(
    settings: Settings, dsn: str, folder: BackupFolder, named: Path | None, show: ShowProgress
) -> MadeBackup:
    """Make a backup of a database and its data folder. `named` is the directory of PostgreSQL's programs.

    Raises BackupFailed, ClientFailed and Unavailable.
    """
    if folder.root.resolve().is_relative_to(settings.data.resolve()):
        raise BackupFailed(f"{folder.root} is in the data folder. Choose a folder elsewhere, on another disk.")
    with folder.held(), explain_full_disk(folder.root, GOING_ON), LoneConnection(dsn) as session:
        _require_current(session)
        clients = session(choose, dsn, own=settings.database_url is None, named=named)
        folder.clear_parts()
        copying = _Copying(folder, settings.data, media_folder(settings, COMMANDS), show)
        # Most files are copied before the first snapshot, which makes PostgreSQL keep old rows for as long as it is
        # held.
        for _ in range(MOST_ROUNDS):
            if copying.take(session(named_files)) < FEW:
                break
        return _made_at_snapshot(session, clients, copying)


def _require_current(session: LoneConnection) -> None:
    """Raise BackupFailed for an older schema: without a backup, there is no way back from an upgrade."""
    if steps := session(missing):
        raise BackupFailed(
            f"The database is at schema {steps[0].number - 1}, and this version of Troupe needs {steps[-1].number}. A"
            " backup is made by the version that the database has: install that version again, make the backup, and"
            " upgrade then."
        )


def _made_at_snapshot(session: LoneConnection, clients: ClientPrograms, copying: _Copying) -> MadeBackup:
    """Take snapshots until one names only files that are copied, and make the backup of it."""
    for _ in range(MOST_SNAPSHOTS):
        with snapshot(session) as name:
            before = copying.missing
            named = session(named_files)
            copying.take(named)
            # The files of which a snapshot before knows too that they are not there were lost.
            if copying.missing <= before:
                return _made(session, clients, copying, name, named)
    raise BackupFailed(f"Files came and went during {MOST_SNAPSHOTS} snapshots. {GOING_ON}")


def _made(
    session: LoneConnection, clients: ClientPrograms, copying: _Copying, snapshot_name: str, named: Sequence[NamedFile]
) -> MadeBackup:
    folder, taken_at, known = copying.folder, datetime.now(UTC), migrations()
    files = copying.placed(named) | copying.take_others()
    name = _new_name(folder, taken_at)
    manifest = Manifest(
        name=name,
        taken_at=taken_at,
        version=__version__,
        schema=len(known),
        schema_checksum=checksum_of(known),
        postgresql=programs.major_of(clients.folder / "pg_dump"),
        base_url=_text(copying.data / NOTE),
        highest_id=session(highest_id),
        tables=session(contents),
        dump=_dump(clients, copying, snapshot_name, folder.root / f"{name}{DUMP}{PART}"),
        files=files,
        missing=sorted(copying.missing),
    )
    folder.write_journal()
    _check_new(folder, manifest, copying)
    # The manifest comes last: a folder without a manifest is no backup.
    (folder.root / f"{name}{DUMP}{PART}").replace(folder.dump(name))
    folder.finish(manifest)
    return MadeBackup(manifest, len(copying.new), sum(file.size for file in copying.new.values()))


class _Copying:
    """The files of a backup in the making."""

    def __init__(self, folder: BackupFolder, data: Path, media: Folder, show: ShowProgress) -> None:
        self.folder = folder
        self.data = data
        self.show = show
        self.media = media
        #: Files that rows name and that are not there.
        self.missing: set[str] = set()
        #: Contents that no backup of the folder had, by their hash.
        self.new: dict[str, BackedUpFile] = {}
        self._known = self._stored_before()
        self._taken: dict[str, BackedUpFile] = {}

    def take(self, named: Sequence[NamedFile]) -> int:
        """Copy the files that are not stored yet. Return their number. `missing` has the names that are not there."""
        wanted = [file.name for file in named if file.name not in self._taken]
        self.missing, count = set(), 0
        try:
            with self.show("Files", len(wanted)) as update:
                for name in wanted:
                    count += self._take(name)
                    update(1)
        finally:
            self.folder.write_journal()
        return count

    def _take(self, name: str) -> bool:
        """Copy a file, and return whether that was needed and possible."""
        known = self._known.get(name)
        if known is not None and self.folder.has(known):
            self._taken[name] = known
            return False
        if (source := self.media.read(name)) is None:
            self.missing.add(name)
            return False
        with source:
            self._taken[name] = self._noted(*self.folder.store(name, source))
        return True

    def placed(self, named: Sequence[NamedFile]) -> dict[str, BackedUpFile]:
        """Return the files that are named by their paths below the data folder."""
        return {
            f"media/{self.media.place(file.name, withheld=file.withheld)}": self._taken[file.name]
            for file in named
            if file.name in self._taken
        }

    def take_others(self) -> dict[str, BackedUpFile]:
        """Copy the other files of the data folder, such as the operator's texts. They may have changed."""
        taken: dict[str, BackedUpFile] = {}
        for path in _others(self.data):
            try:
                with path.open("rb") as source:
                    name = path.relative_to(self.data).as_posix()
                    taken[name] = self._noted(*self.folder.store(name, source))
            except FileNotFoundError:
                continue  # removed meanwhile
        return taken

    def _noted(self, file: BackedUpFile, new: bool) -> BackedUpFile:
        if new:
            self.new[file.digest] = file
        return file

    def _stored_before(self) -> Mapping[str, BackedUpFile]:
        """Return the stored files by the names of the media. Their places change, the names don't."""
        names = self.folder.names()
        files: Mapping[str, BackedUpFile] = self.folder.manifest(names[-1]).files if names else {}
        by_name = {
            path.removeprefix("media/") if path.startswith("media/waiting/") else path.rpartition("/")[2]: file
            for path, file in files.items()
            if path.startswith("media/")
        }
        return by_name | self.folder.journal()


def _dump(clients: ClientPrograms, copying: _Copying, snapshot_name: str, part: Path) -> BackedUpFile:
    try:
        with (
            copying.show("Database", None, in_bytes=True) as update,
            clients.dump("--format=custom", f"--snapshot={snapshot_name}") as output,
            part.open("wb") as target,
        ):
            digest, size = copied(output, target, update)
            target.flush()
            os.fsync(target.fileno())
    except BaseException:
        part.unlink(missing_ok=True)  # the disk may be full of it
        raise
    return BackedUpFile(size, part.stat().st_mtime_ns, digest)


def _check_new(folder: BackupFolder, manifest: Manifest, copying: _Copying) -> None:
    """Read the new files again, and check that all other files are there. Raises BackupFailed."""
    dump = folder.root / f"{manifest.name}{DUMP}{PART}"
    paths = {dump: manifest.dump} | {folder.content(digest): file for digest, file in copying.new.items()}
    with copying.show("Check", sum(file.size for file in paths.values()), in_bytes=True) as update:
        for path, file in paths.items():
            if reread(path, update) != (file.digest, file.size):
                path.unlink(missing_ok=True)
                raise BackupFailed(
                    f"{path} can't be read as it was written: its disk may be broken. No backup was made."
                )
    if gone := next((file for file in manifest.files.values() if not folder.has(file)), None):
        raise BackupFailed(f"{folder.content(gone.digest)} is gone. No backup was made. Run the same command again.")


def _others(data: Path) -> Iterator[Path]:
    """Yield the files of the data folder that are neither media nor of PostgreSQL or a running process."""
    for entry in sorted(data.iterdir()):
        if entry.name.startswith(OTHERS):
            continue
        for path in sorted(_files_in(entry)) if entry.is_dir() else (entry,):
            if path.is_file() and not path.name.endswith(UNFINISHED):
                yield path


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and below. Raises OSError for a folder that can't be read."""

    def refuse(error: OSError) -> None:
        raise error

    for parent, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(parent, name) for name in names)


def _new_name(folder: BackupFolder, taken_at: datetime) -> str:
    name = taken_at.strftime("%Y-%m-%dT%H-%M-%SZ")
    names, number = folder.names(), 1
    while (new := name if number == 1 else f"{name}-{number}") in names:
        number += 1
    return new


def _text(path: Path) -> str:
    return path.read_text("utf-8").strip() if path.exists() else ""

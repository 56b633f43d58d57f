"""Restoring a backup into a new data folder and a new database.

A mark in the data folder keeps servers and commands from it until all is restored. The embedded database is made under
another name and gets its own as the last step; in an external one, everything happens in one transaction. So a restore
that is interrupted leaves nothing that could be taken for a server, and the next restore goes on with the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ...actors.configuration import StorageSettings
from ...actors.kernel.clock import BELOW_MILLISECONDS
from ...storage.engine import transfer
from ...storage.engine.clients import choose
from ...storage.engine.cluster import UNFINISHED, Cluster
from ...storage.engine.connect import LoneConnection
from ...storage.engine.data_folder import RESTORING, make_private
from ...storage.engine.embedded import discard, enter_cluster, put_in_place
from ...storage.engine.migrate import migrations
from ...storage.upkeep.copies import GAP, last_statements, restored_from
from ...storage.upkeep.flushing import flush, flush_disk
from .checking import check_there
from .errors import BackupDamaged, BackupFailed, explain_full_disk
from .folder import PART, BackupFolder, copied, reread
from .making import ShowProgress
from .manifest import BackedUpFile, Manifest, checksum_of

GOING_ON = "Run the same command again: it goes on with the files."

# Names that may be in a new data folder: file systems make them.
NOTHING = {"lost+found"}


def restore(
    settings: StorageSettings, folder: BackupFolder, name: str, named: Path | None, show: ShowProgress
) -> Manifest:
    """Restore a backup. Raises BackupFailed before anything is changed if it can't be done."""
    data, manifest = settings.data, folder.manifest(name)
    _require_version(manifest)
    _require_clock(manifest)
    _require_new(data, name)
    if settings.database_url is not None:
        with LoneConnection(settings.database_url.get_secret_value()) as session:
            _has(session, name)
    check_there(folder, manifest)
    _check_dump(folder, manifest, show)
    with explain_full_disk(data, GOING_ON), _marked(data, name):
        _restore_files(folder, manifest, data, show)
        if settings.database_url is None:
            _restore_embedded(folder, manifest, data, named, show)
        else:
            dsn = settings.database_url.get_secret_value()
            _restore_database(folder, manifest, dsn, named, show, own=False)
    return manifest


def _restore_embedded(
    folder: BackupFolder, manifest: Manifest, data: Path, named: Path | None, show: ShowProgress
) -> None:
    """Make a cluster, and give it its name when it has everything."""
    if Cluster(data).version() is not None:
        return  # the restore was interrupted after its last step
    cluster = Cluster(data, UNFINISHED)
    discard(cluster)
    server = enter_cluster(cluster)
    try:
        _restore_database(folder, manifest, server.dsn, named, show, own=True)
    finally:
        server.leave()
    put_in_place(cluster)


def _restore_database(
    folder: BackupFolder, manifest: Manifest, dsn: str, named: Path | None, show: ShowProgress, *, own: bool
) -> None:
    """Load the dump into an empty database, and compare each table with the manifest."""
    with LoneConnection(dsn) as session:
        clients = session(choose, dsn, own=own, named=named)
        if _has(session, manifest.name):
            return  # the restore was interrupted after its last step
        last = last_statements(manifest.name, _lowest_id(manifest), GAP)
        with show("Database", None, in_bytes=True) as update:
            transfer.load(clients.read_dump(folder.dump(manifest.name)), clients, last, update)
        restored = session(transfer.contents)
        if wrong := sorted(table for table in manifest.tables if restored.get(table) != manifest.tables[table]):
            raise BackupDamaged(f"The restored rows differ from the backup in the tables: {', '.join(wrong)}.")
        session(transfer.analyze)


def _has(session: LoneConnection, name: str) -> bool:
    """Return True if a backup is restored in the database, False if it is empty. Raises BackupFailed otherwise."""
    if session(transfer.is_empty):
        return False
    if session(restored_from) == name:
        return True
    raise BackupFailed(transfer.NOT_EMPTY)


def _restore_files(folder: BackupFolder, manifest: Manifest, data: Path, show: ShowProgress) -> None:
    owner = data.stat()
    with show("Files", len(manifest.files)) as update:
        for name, file in manifest.files.items():
            _restore_file(folder, file, data / name, _giver(owner))
            update(1)
    flush_disk(data)


def _restore_file(folder: BackupFolder, file: BackedUpFile, target: Path, give: Callable[[Path], None]) -> None:
    """Copy a file and check its contents, unless an interrupted restore has done it."""
    if target.exists() and (state := target.stat()).st_size == file.size and state.st_mtime_ns == file.changed:
        return
    part = target.with_name(f"{target.name}{PART}")
    _make_folders(part.parent, give)
    with folder.content(file.digest).open("rb") as source, part.open("wb") as copy:
        if copied(source, copy) != (file.digest, file.size):
            raise BackupDamaged(f"The backup is damaged: {folder.content(file.digest)}. The restore was ended.")
    part.chmod(0o600)
    os.utime(part, ns=(file.changed, file.changed))
    give(part)
    part.replace(target)


def _make_folders(folder: Path, give: Callable[[Path], None]) -> None:
    if not folder.is_dir():
        _make_folders(folder.parent, give)
        folder.mkdir(mode=0o700)
        give(folder)


def _giver(owner: os.stat_result) -> Callable[[Path], None]:
    """Return the function that gives files made by root to the owner of the data folder, if that is another user."""

    def give(path: Path) -> None:
        if os.geteuid() == 0 and owner.st_uid != 0:
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)

    return give


def _lowest_id(manifest: Manifest) -> int:
    """Return an id above all that the first server can have handed out by now, if its clock was ahead of ours.

    Ids are made of the time. If they were ahead of it, they went on from the highest id, not faster than time.
    """
    passed = datetime.now(UTC) - manifest.taken_at
    return manifest.highest_id + (int(passed.total_seconds() * 1000) + 1 << BELOW_MILLISECONDS)


def _require_version(manifest: Manifest) -> None:
    known = migrations()
    if manifest.schema > len(known):
        release, _, later = manifest.version.partition("+")  # 0.2.0+dev is a state of the source after 0.2.0
        wanted = f"a version newer than {release}" if later else f"version {release} or a newer version"
        raise BackupFailed(
            f"The backup has schema {manifest.schema}, and this version of Troupe knows {len(known)}: restore it with"
            f" {wanted}."
        )
    if checksum_of(known[: manifest.schema]) != manifest.schema_checksum:
        raise BackupFailed("The backup has a schema that no earlier version had: it is of another program.")


def _require_clock(manifest: Manifest) -> None:
    if (now := datetime.now(UTC)) < manifest.taken_at:
        raise BackupFailed(
            f"It is {now:%Y-%m-%d %H:%M:%S} UTC by the clock of this machine, and the backup was made at"
            f" {manifest.taken_at:%Y-%m-%d %H:%M:%S}. Correct the clock: new posts would get the ids of old posts."
        )


def _require_new(data: Path, name: str) -> None:
    """Raise BackupFailed for a folder with anything in it but an unfinished restore of the same backup."""
    mark = data / RESTORING
    if mark.exists():
        if (other := mark.read_text("utf-8").strip()) not in ("", name):
            raise BackupFailed(
                f"The restore of the backup {other} into {data} was interrupted. Finish it with --backup {other}, or"
                f" remove {data} first."
            )
    elif data.exists() and (not data.is_dir() or {entry.name for entry in data.iterdir()} - NOTHING):
        raise BackupFailed(f"{data} has files in it. Nothing is written over: restore into a new folder with --data.")


def _check_dump(folder: BackupFolder, manifest: Manifest, show: ShowProgress) -> None:
    with show("Check", manifest.dump.size, in_bytes=True) as update:
        if reread(folder.dump(manifest.name), update) != (manifest.dump.digest, manifest.dump.size):
            raise BackupDamaged(f"The backup is damaged: {folder.dump(manifest.name)}. Nothing was restored.")


@contextmanager
def _marked(data: Path, name: str) -> Generator[None]:
    """Mark the data folder until the block has ended well."""
    make_private(data)
    mark = data / RESTORING
    mark.write_text(f"{name}\n", "utf-8")
    flush(mark)
    flush(data)
    yield
    flush_disk(data)
    mark.unlink()
    flush(data)

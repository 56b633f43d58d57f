"""Checking that backups are unchanged since they were made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .errors import BackupDamaged, BackupFailed
from .folder import BackupFolder, reread
from .making import ShowProgress
from .manifest import BackedUpFile, Manifest


def check(folder: BackupFolder, names: Sequence[str], show: ShowProgress) -> list[Manifest]:
    """Read all parts of some backups, and return their manifests. Raises BackupDamaged with a line for each error."""
    manifests, wrong = _manifests(folder, names)
    dumps = {folder.dump(manifest.name): manifest.dump for manifest in manifests}
    contents = {folder.content(file.digest): file for manifest in manifests for file in manifest.files.values()}
    with show("Check", sum(file.size for file in (dumps | contents).values()), in_bytes=True) as update:
        damaged_dumps, damaged_contents = (_damaged(files, update) for files in (dumps, contents))
    lost = sorted({*names} - {manifest.name for manifest in manifests} | {path.stem for path in damaged_dumps})
    cures = [f"Nothing can be restored of the backup {name}: {folder.removal(name)}" for name in lost]
    if damaged_contents:
        having = [
            manifest.name for manifest in manifests
            if any(folder.content(file.digest) in damaged_contents for file in manifest.files.values())
        ]  # fmt: skip
        cures += [
            "Remove the damaged files, and make a backup: it stores again what the server still has. If this command"
            " then names them again, remove the backups that have them: " + ", ".join(map(folder.removal, having))
        ]
    if cures:
        raise BackupDamaged("\n".join([*wrong, *damaged_dumps.values(), *damaged_contents.values(), *cures]))
    return manifests


def _damaged(files: Mapping[Path, BackedUpFile], update: Callable[[int], None]) -> dict[Path, str]:
    """Return the damaged or unreadable files, each with an error text."""
    wrong: dict[Path, str] = {}
    for path, file in files.items():
        try:
            if reread(path, update) != (file.digest, file.size):
                wrong[path] = f"{path} is damaged"
        except OSError as error:
            wrong[path] = f"{path}: {error.strerror}"
    return wrong


def check_there(folder: BackupFolder, manifest: Manifest) -> None:
    """Raise BackupDamaged if a part of a backup is missing or has another size."""
    parts = {folder.dump(manifest.name): manifest.dump}
    parts |= {folder.content(file.digest): file for file in manifest.files.values()}
    for path, file in parts.items():
        _require(path, file)


def _require(path: Path, file: BackedUpFile) -> None:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise BackupDamaged(f"The backup is damaged: {path} is missing. Nothing was restored.") from None
    if size != file.size:
        raise BackupDamaged(
            f"The backup is damaged: {path} has {size} bytes and not {file.size}. Nothing was restored."
        )


def _manifests(folder: BackupFolder, names: Sequence[str]) -> tuple[list[Manifest], list[str]]:
    found: list[Manifest] = []
    wrong: list[str] = []
    for name in names:
        try:
            found.append(folder.manifest(name))
        except BackupFailed as error:
            wrong.append(str(error))
    return found, wrong

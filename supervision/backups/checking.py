"""Checking that backups are what they were when they were made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .errors import BackupDamaged, BackupFailed
from .folder import BackupFolder, reread
from .making import ShowProgress
from .manifest import BackedUpFile, Manifest


def check(folder: BackupFolder, names: Sequence[str], show: ShowProgress) -> list[Manifest]:
    """Read all that some backups consist of, and return their manifests. Raises BackupDamaged with what is wrong."""
    manifests, wrong = _manifests(folder, names)
    paths = {folder.dump(one.name): one.dump for one in manifests}
    paths |= {folder.content(file.digest): file for one in manifests for file in one.files.values()}
    with show("Check", sum(file.size for file in paths.values()), in_bytes=True) as update:
        for path, file in paths.items():
            try:
                found = reread(path, update)
            except OSError as error:
                wrong.append(f"{path}: {error.strerror}")
            else:
                wrong += [f"{path} is damaged"] if found != (file.digest, file.size) else []
    if wrong:
        raise BackupDamaged("\n".join([*wrong, "Remove the damaged files and make a backup: it stores them again."]))
    return manifests


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

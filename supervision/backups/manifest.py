"""The manifest of a backup: lines of JSON. The last line has a hash of the lines before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from ...storage.engine.json_values import JsonObject
from ...storage.engine.migrate import Migration
from ...storage.engine.transfer import Contents
from .errors import BackupDamaged, BackupFailed

FORMAT = 1


@dataclass(frozen=True, slots=True)
class BackedUpFile:
    """The contents of a file: bytes, when it was changed (nanoseconds since 1970), and its SHA-256."""

    size: int
    changed: int
    digest: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup. `taken_at` is the time of the snapshot of the database."""

    name: str
    taken_at: datetime
    version: str
    schema: int
    schema_checksum: str
    postgresql: int
    base_url: str
    highest_id: int
    tables: Contents
    dump: BackedUpFile
    files: Mapping[str, BackedUpFile]
    missing: Sequence[str]

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(rows for rows, _ in self.tables.values())

    @property
    def size(self) -> int:
        """The bytes of the dump and of all files."""
        return self.dump.size + sum(file.size for file in self.files.values())

    def as_json(self) -> JsonObject:
        """Return the facts about the backup for operators."""
        return {
            "name": self.name,
            "taken_at": self.taken_at.isoformat(),
            "version": self.version,
            "schema": self.schema,
            "postgresql": self.postgresql,
            "base_url": self.base_url,
            "rows": self.rows,
            "files": len(self.files),
            "bytes": self.size,
            "missing": list(self.missing),
        }


def checksum_of(steps: Sequence[Migration]) -> str:
    """Return a hash of the history of a schema."""
    return hashlib.sha256("\n".join(step.checksum for step in steps).encode()).hexdigest()


def written(manifest: Manifest) -> Iterator[bytes]:
    """Yield the lines of a manifest."""
    whole = hashlib.sha256()
    head = {
        "troupe_backup": FORMAT,
        "name": manifest.name,
        "taken_at": manifest.taken_at.isoformat(),
        "version": manifest.version,
        "schema": manifest.schema,
        "schema_checksum": manifest.schema_checksum,
        "postgresql": manifest.postgresql,
        "base_url": manifest.base_url,
        "highest_id": manifest.highest_id,
        "tables": manifest.tables,
        "dump": _listed(manifest.dump),
        "missing": list(manifest.missing),
    }
    for value in (head, *([path, *_listed(file)] for path, file in sorted(manifest.files.items()))):
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        whole.update(line)
        yield line
    yield json.dumps({"files": len(manifest.files), "sha256": whole.hexdigest()}).encode() + b"\n"


def read(path: Path) -> Manifest:
    """Return the manifest in a file. Raises BackupDamaged, and BackupFailed for a manifest of another version."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
        head, *files, tail = (json.loads(line) for line in lines)
        whole = hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    except FileNotFoundError:
        raise BackupFailed(f"There is no backup {path.stem} in {path.parent}.") from None
    except ValueError:
        raise BackupDamaged(f"The manifest {path} is damaged. {_removal(path)}") from None
    if tail != {"files": len(files), "sha256": whole}:
        raise BackupDamaged(f"The manifest {path} is damaged: it has changed since it was written. {_removal(path)}")
    if head.get("troupe_backup") != FORMAT:
        raise BackupFailed(f"{path} is of a version of Troupe with other backups: restore it with that version.")
    return Manifest(
        name=head["name"],
        taken_at=datetime.fromisoformat(head["taken_at"]),
        version=head["version"],
        schema=head["schema"],
        schema_checksum=head["schema_checksum"],
        postgresql=head["postgresql"],
        base_url=head["base_url"],
        highest_id=head["highest_id"],
        tables={table: (rows, total) for table, (rows, total) in head["tables"].items()},
        dump=BackedUpFile(*head["dump"]),
        files={_inside(path, name): BackedUpFile(*of_file) for name, *of_file in files},
        missing=tuple(head["missing"]),
    )


def _removal(path: Path) -> str:
    return (
        f"Remove it: nothing can be restored of its backup. Others are named by `troupe backup --verify {path.parent}`."
    )


def _listed(file: BackedUpFile) -> list[object]:
    return [file.size, file.changed, file.digest]


def _inside(manifest: Path, name: str) -> str:
    """Return a path below the data folder. Raises BackupDamaged for a path that leads out of it."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise BackupDamaged(f"The manifest {manifest} names {name!r}, which is not below the data folder.")
    return name

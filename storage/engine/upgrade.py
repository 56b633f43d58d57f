"""The upgrade of the embedded PostgreSQL to a newer major version, which can't read the old files.

The old cluster is dumped into a new cluster beside it. When the new cluster is complete and equal, both are renamed:

    postgres-unfinished → postgres-upgraded → postgres
    postgres → postgres-16

A kill in between leaves the old cluster at its place, or no cluster. Then the next start puts the new cluster there
(`preparation.put_upgraded`). The old files stay until their owner removes them.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import programs
from .clients import ClientFailed
from .cluster import UNFINISHED, UPGRADED, Cluster, EmbeddedFailed, locked, locked_now
from .connect import LoneConnection
from .embedded import discard, enter_cluster, put_in_place
from .preparation import put_upgraded
from .term import COPYING_NAME, begin_alone
from .transfer import Place, copy_database


@dataclass(frozen=True, slots=True)
class Upgraded:
    """An upgrade that was done: both versions, and where the old files are."""

    before: int
    after: int
    kept: Path


def upgrade_cluster(data: Path, named: Path | None, progress: Callable[[int], None]) -> Upgraded | None:
    """Upgrade the embedded PostgreSQL of a data folder; None if it is not older than this version's.

    `named` is the directory of the old programs. `progress` is called with numbers of bytes. Raises
    EmbeddedFailed, ClientFailed and AnotherNode.
    """
    old = Cluster(data.absolute())
    with locked(old.door):
        put_upgraded(old)
    version = old.version()
    if version is None:
        raise EmbeddedFailed(f"there is no database in {data}")
    if version >= programs.MAJOR:
        return None
    kept = old.data / f"{old.name}-{version}"
    if kept.exists():
        raise EmbeddedFailed(f"{kept} exists, where the old files would be kept: remove or rename it first")
    older = _programs_of(version, named)
    new = Cluster(old.data, UNFINISHED)
    discard(new)
    shutil.rmtree(old.data / UPGRADED, ignore_errors=True)  # of a killed upgrade; the old cluster may have gone on
    _copy(old, new, older, version, progress)
    put_in_place(new, UPGRADED)
    with locked(old.door), locked_now(old.users):
        old.folder.rename(kept)
        put_upgraded(old)
    return Upgraded(version, programs.MAJOR, kept)


def _copy(old: Cluster, new: Cluster, older: Path, version: int, progress: Callable[[int], None]) -> None:
    """Dump the old cluster into the new cluster. No server may run on the old cluster."""
    source = enter_cluster(old, older=older, major=version)
    try:
        target = enter_cluster(new)
        try:
            with LoneConnection(source.dsn, COPYING_NAME) as session:
                session(begin_alone)
                copy_database(session, Place(source.dsn, own=True), Place(target.dsn, own=True), None, progress)
        finally:
            target.leave()
    finally:
        source.leave()


def _programs_of(version: int, named: Path | None) -> Path:
    older = named or programs.find_major(version)
    if older is None:
        package = shlex.quote(f"postgresql-{version}")
        raise ClientFailed(
            f"PostgreSQL {version}, whose files are to be upgraded, is not on this machine: install it, on Debian by"
            f" `apt install {package}`, and name the directory of its programs with --programs"
        )
    if (found := programs.major_of(older / "postgres")) != version:
        raise ClientFailed(f"the programs in {older} are of PostgreSQL {found}, and the files of {version}")
    return older

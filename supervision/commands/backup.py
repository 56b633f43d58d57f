"""`troupe backup` and `troupe restore`: all that a server keeps, in a folder elsewhere, and back from there."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import json_option, print_json, setting_options, written_size

if TYPE_CHECKING:
    from ..backups.folder import BackupFolder
    from ..backups.making import ShowProgress


class _NonEmptyPath(click.Path):
    """The path of a folder. An empty path is refused: it would be the working directory."""

    def convert(
        self, value: str | PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | PathLike[str]:
        if value == "":
            self.fail("The path is empty.", param, ctx)
        return super().convert(value, param, ctx)


_folder = click.argument("folder", metavar="DIR", type=_NonEmptyPath(path_type=Path, file_okay=False))
programs_option = click.option(
    "--programs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="The directory of PostgreSQL's client programs, for an external server that is newer than the wheel's, or"
    " that takes connections by TLS alone.",
)


@click.command
@_folder
@click.option("--keep", type=click.IntRange(1), default=3, show_default=True, help="How many backups stay in DIR.")
@click.option("--verify", is_flag=True, help="Make no backup: read all that is in DIR, and list the backups.")
@programs_option
@json_option
@setting_options("data")
def backup(server: ChosenServer, folder: Path, keep: int, verify: bool, programs: Path | None, as_json: bool) -> None:
    """Make a backup in DIR, an empty folder or a folder with backups, while the server runs or without it.

    A backup is a snapshot of the database, the media and the other files of the data folder. Files that DIR has already
    are not copied again. The settings are not in it. Interrupted, the command goes on when it is run again.
    """
    from ..backups.folder import BackupFolder

    at = BackupFolder(folder.absolute())
    if verify:
        _verify(at, as_json)
        return
    from ..backups.making import GOING_ON, make_backup
    from .progress import interruptible
    from .rows import existing_database

    settings = server.settings
    with interruptible(GOING_ON), existing_database(settings) as dsn:
        made = make_backup(settings, dsn, at, programs, _show(GOING_ON))
        at.keep(keep)
    if as_json:
        print_json({**made.manifest.as_json(), "new_files": made.new_files, "new_bytes": made.new_bytes})
        return
    click.echo(f"Made the backup {_line(made.manifest.as_json())}; {number_of(made.new_files, 'files')} new")
    _tell_missing(made.manifest.missing)


@click.command
@_folder
@click.option("--backup", "name", metavar="NAME", help="A backup in DIR. [default: the newest]")
@programs_option
@json_option
@setting_options("data")
def restore(server: ChosenServer, folder: Path, name: str | None, programs: Path | None, as_json: bool) -> None:
    """Restore a backup of DIR into a new data folder, and a new database.

    Nothing is written over: the data folder must be missing or empty, and so must the database that
    TROUPE_DATABASE_URL names, if it is set. Interrupted, the command goes on when it is run again; no server starts on
    a half restored folder. Never run the original server again beside the restored server.
    """
    from ..backups.folder import BackupFolder
    from ..backups.restoring import GOING_ON
    from ..backups.restoring import restore as restore_backup
    from .progress import interruptible

    settings, at = server.settings, BackupFolder(folder.absolute())
    with interruptible(GOING_ON), at.read():
        manifest = restore_backup(settings, at, name or at.newest(), programs, _show(GOING_ON))
    if as_json:
        print_json(manifest.as_json())
        return
    click.echo(f"Restored the backup {_line(manifest.as_json())}, into {settings.data}")
    _tell_missing(manifest.missing)
    if settings.media_store != "local":
        click.echo("The media are in the data folder: bring them to the bucket with `troupe media move s3`", err=True)


def _verify(at: BackupFolder, as_json: bool) -> None:
    from ..backups.checking import check
    from .progress import interruptible

    with interruptible("Nothing was changed."), at.read():
        at.newest()  # refuses a folder without a whole backup
        found = [manifest.as_json() for manifest in check(at, at.names(), _show("Nothing was changed."))]
    if as_json:
        print_json(found)
        return
    for manifest in found:
        click.echo(f"Whole: {_line(manifest)}")


def _show(going_on: str) -> ShowProgress:
    from .progress import progress

    return lambda label, total, *, in_bytes=False: progress(label, total, going_on, in_bytes=in_bytes)


def _line(manifest: JsonObject) -> str:
    rows, files = number_of(manifest["rows"], "rows"), number_of(manifest["files"], "files")
    return f"{manifest['name']}: {rows}, {files}, {written_size(manifest['bytes'])}"


def _tell_missing(missing: Sequence[str]) -> None:
    if missing:
        count = number_of(len(missing), "files")
        click.echo(f"Not on the server's disk, although rows name them: {count}, such as {missing[0]}", err=True)

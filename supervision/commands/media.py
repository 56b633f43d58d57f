"""`troupe media`: the files of the media folder, and how much room they may take."""

from __future__ import annotations

from pathlib import Path

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from ...storage.files import COMMANDS
from ...storage.media_stores import StoreName
from ..media_folders import media_folder
from .acting import NotDone, act
from .options import dry_run_option, json_option, print_json, setting_options, settings_from, written_size

UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
MOST_DIGITS = 15


def size_of(written: str) -> int:
    """Return the number of bytes of a size such as 500M or 20G."""
    number = written.strip().lower().rstrip("kmgt")
    unit = UNITS.get(written.strip().lower()[len(number) :])
    if unit is None or not (number.isascii() and number.isdecimal()) or len(number) > MOST_DIGITS:
        raise click.BadParameter(f"{written!r} is not a size such as 500M, 20G or 0.")
    return int(number) * unit


@click.group
def media() -> None:
    """Files: uploads, pictures of profiles, emoji and cards, and copies of other servers' pictures."""


@media.command
@click.option("--accounts", type=click.IntRange(0, 1000), default=5, show_default=True, help="How many to show.")
@json_option
@setting_options("data")
def usage(accounts: int, as_json: bool, data: str | None, config: Path | None) -> None:
    """Show how many files there are of each kind, how many bytes they take, and the accounts with most of them.

    Run it on the machine with the data folder. A file that is not there is not counted.
    """
    from .media_keeping import usage as usage_of_files
    from .progress import progress

    chosen = settings_from(config, data=data)
    with progress("Counting files", None, "Nothing was changed.") as update:
        found = act(config, usage_of_files, media_folder(chosen, COMMANDS), accounts, update, data=data)
    if as_json:
        print_json(found)
        return
    for kind, one in found["kinds"].items():
        click.echo(f"{kind}\t{number_of(one['files'], 'files')}\t{written_size(one['bytes'])}")
    click.echo(f"all\t{number_of(found['files'], 'files')}\t{written_size(found['bytes'])}")
    for one in found["accounts"]:
        click.echo(f"@{one['account']}\t{number_of(one['files'], 'files')}\t{written_size(one['bytes'])}")


@media.command
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    required=True,
    help="Only what was not used for so many days.",
)
@dry_run_option
@json_option
@setting_options("data")
def remove(days: int, dry_run: bool, as_json: bool, data: str | None, config: Path | None) -> None:
    """Remove uploads and cards that no post has, and copies of other servers' pictures, with their files.

    The server does the same every hour, after a day for the former and after 30 days for copies. Copies are fetched
    again when they are needed. Run it on the machine with the data folder; elsewhere, the server removes the files.
    """
    from .media_keeping import RemovedMedia, count_unused
    from .media_keeping import remove as remove_media
    from .progress import progress
    from .rows import transactions

    chosen, removed = settings_from(config, data=data), RemovedMedia()
    with transactions(chosen) as run:
        if dry_run:
            removed = run(count_unused, days, dry_run=True)
        else:
            going_on = "These are removed. Run the same command again for the others."
            with progress("Removing media", None, going_on, things="rows") as update:
                remove_media(run, media_folder(chosen, COMMANDS), days, removed, update)
    if as_json:
        print_json({"removed": removed.by_kind, "dry_run": dry_run})
        return
    for kind, count in removed.by_kind.items():
        click.echo(f"{'Would remove' if dry_run else 'Removed'} {number_of(count, kind)}")
    if removed.left:
        click.echo(f"Left to the server, because they can't be removed here: {number_of(removed.left, 'files')}.")


@media.command
@click.argument("size", type=size_of, required=False)
@click.option("--reset", is_flag=True, help="Go back to the default of 10G.")
@dry_run_option
@json_option
@setting_options("data")
def budget(size: int | None, reset: bool, dry_run: bool, as_json: bool, data: str | None, config: Path | None) -> None:
    """Choose how much room copies of other servers' pictures and the pictures of cards may take, such as 20G.

    Without SIZE, print how much it is. Every hour the server removes those that were not used for the longest time, as
    far as there are too many; copies are fetched again when they are needed. With --dry-run, show how much would go.
    """
    from ...actors.media.cleaning import BUDGET
    from .media_keeping import budget_of, change_budget, count_over_budget

    if size is not None and reset:
        raise click.UsageError("Choose a size, or say --reset.")
    if dry_run:
        gone: JsonObject = act(config, count_over_budget, BUDGET if reset else size, dry_run=True, data=data)
        if as_json:
            print_json(gone | {"dry_run": True})
        else:
            click.echo(f"Would remove {number_of(gone['files'], 'files')} with {written_size(gone['bytes'])}")
        return
    if size is not None or reset:
        act(config, change_budget, size, data=data)
    found: JsonObject = act(config, budget_of, data=data)
    if as_json:
        print_json(found)
    else:
        source = "chosen by staff" if found["chosen"] else "by default"
        click.echo(f"{written_size(found['budget'])} {source}, {written_size(found['used'])} used")


@media.command
@click.argument("to", type=click.Choice(["local", "s3"]))
@dry_run_option
@json_option
@setting_options("data")
def move(to: StoreName, dry_run: bool, as_json: bool, data: str | None, config: Path | None) -> None:
    """Move the files to another store, while the server runs: `s3`, a bucket, or `local`, the data folder.

    Run it twice, with the settings of the bucket. First while `media_store` still names the old store: then it copies
    the files, and removes from the new store what the old one does not have. Then set `media_store`, restart the
    server and run it again: it moves what was added meanwhile, and removes the files of the old store. An interrupted
    run is continued by running it again. Run it on the machine with the data folder.
    """
    from .media_moving import dry_run_move
    from .media_moving import move as move_media
    from .progress import progress

    settings = settings_from(config, data=data)
    try:
        going_on = "These are moved. Run the same command again for the others."
        with progress("Moving files", None, going_on, things="files") as update:
            moved = dry_run_move(settings, to) if dry_run else move_media(settings, to, update)
    except (OSError, ValueError) as error:
        raise NotDone(f"the files were not all moved: {error}") from None
    if as_json:
        print_json({"brought": moved.brought, "bytes": moved.bytes, "removed": moved.removed, "dry_run": dry_run})
    else:
        brought, removed = ("Would bring", "Would remove") if dry_run else ("Brought", "Removed")
        where = "old" if settings.media_store == to else "new"
        click.echo(f"{brought} {number_of(moved.brought, 'files')} with {written_size(moved.bytes)} to the new store")
        click.echo(f"{removed} {number_of(moved.removed, 'files')} from the {where} one")

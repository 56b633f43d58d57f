"""`troupe media`: the files of the media folder, and how much room they may take.

The sweeps are those of the server.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage import accounts
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .media_moves import move
from .options import dry_run_option, json_option, print_json, setting_options, written_size
from .refusals import require

if TYPE_CHECKING:
    from ...actors.effects.registry import Promise
    from ...storage.engine.database import Connection
    from ...storage.files import Folder
    from .progress import Update
    from .rows import Here, Transact

UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
MOST_DIGITS = 15
ROWS_AT_ONCE = 5000


@click.group
def media() -> None:
    """Files: uploads, pictures of profiles, emoji and cards, and copies of other servers' pictures."""


media.add_command(move)


@media.command
@click.option("--accounts", type=click.IntRange(0, 1000), default=5, show_default=True, help="How many to show.")
@json_option
@setting_options("data")
def usage(server: ChosenServer, accounts: int, as_json: bool) -> None:
    """Show the number of files of each kind, their bytes, and the accounts with the most files.

    Run it on the machine with the data folder. A file that is not there is not counted.
    """
    from .progress import progress

    with progress("Counting files", None, "Nothing was changed.") as update:
        found = server.transact(_usage, accounts, update)
    if as_json:
        print_json(found)
        return
    for kind, used in found["kinds"].items():
        click.echo(f"{kind}\t{number_of(used['files'], 'files')}\t{written_size(used['bytes'])}")
    click.echo(f"all\t{number_of(found['files'], 'files')}\t{written_size(found['bytes'])}")
    for account in found["accounts"]:
        click.echo(f"@{account['account']}\t{number_of(account['files'], 'files')}\t{written_size(account['bytes'])}")


@dataclass(slots=True)
class Usage:
    """A number of files, and the bytes that they take."""

    files: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        self.files += 1
        self.bytes += size


async def _usage(db: Connection, here: Here, most: int, progress: Update) -> JsonObject:
    """Return the number of files and bytes of each kind, and of all, and the accounts whose files take most.

    `progress` is called with numbers of files.
    """
    from ...storage import media_usage
    from ...storage.files import COMMANDS
    from ..settings.media_folders import media_folder

    folder = media_folder(here.settings, COMMANDS)
    sizes = {file.name: file.size for file in folder.store.files()}
    kinds: dict[str, JsonObject] = {}
    owners: dict[int, Usage] = defaultdict(Usage)
    for kind in media_usage.KINDS:
        total = Usage()
        async for owner, name in _files(db, kind):
            progress(1)
            size = sizes.get(name) or folder.size_waiting(name)
            if size is not None:
                total.add(size)
                if owner is not None:
                    owners[owner].add(size)
        kinds[kind] = {"files": total.files, "bytes": total.bytes}
    for made, (size, count) in (await media_usage.copies(db)).items():
        kinds[f"copies of other servers, {made}"] = {"files": count, "bytes": size}
    whole = {name: sum(used[name] for used in kinds.values()) for name in ("files", "bytes")}
    return whole | {"kinds": kinds, "accounts": await _largest(db, owners, most)}


async def _largest(db: Connection, owners: Mapping[int, Usage], most: int) -> list[JsonObject]:
    largest = sorted(owners, key=lambda id: owners[id].bytes, reverse=True)[:most]
    rows = await accounts.find_many(db, largest)
    return [
        {"account": rows[id].acct, "files": owners[id].files, "bytes": owners[id].bytes} for id in largest if id in rows
    ]


async def _files(db: Connection, kind: str) -> AsyncGenerator[tuple[int | None, str]]:
    """Return the files of a kind with the accounts that they belong to."""
    from ...storage import media_usage

    after = 0
    while page := await media_usage.page(db, kind, after, ROWS_AT_ONCE):
        after = page[-1].key
        for row in page:
            for name in row.files:
                yield row.owner, name


@media.command
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    required=True,
    help="Only files that were not used for so many days.",
)
@dry_run_option
@json_option
@setting_options("data")
def remove(server: ChosenServer, days: int, dry_run: bool, as_json: bool) -> None:
    """Remove uploads and cards that no post has, and copies of other servers' pictures, with their files.

    The server does the same every hour, after a day for the former and after 30 days for copies. Copies are fetched
    again when they are needed. Run it on the machine with the data folder; elsewhere, the server removes the files.
    """
    from ...storage.files import COMMANDS
    from ..settings.media_folders import media_folder
    from .progress import progress

    removed = RemovedMedia()
    with server.transactions() as run:
        if dry_run:
            removed = run(_count_unused, days, dry_run=True)
        else:
            going_on = "These are removed. Run the same command again for the others."
            with progress("Removing media", None, going_on, things="rows") as update:
                _remove(run, media_folder(server.settings, COMMANDS), days, removed, update)
    if as_json:
        print_json({"removed": removed.by_kind, "dry_run": dry_run})
        return
    for kind, count in removed.by_kind.items():
        click.echo(f"{'Would remove' if dry_run else 'Removed'} {number_of(count, kind)}")
    if removed.left:
        click.echo(f"Left to the server, because they can't be removed here: {number_of(removed.left, 'files')}.")


@dataclass(slots=True)
class RemovedMedia:
    """The numbers of removed media by kind, and of files that could not be removed."""

    counts: Counter[str] = field(default_factory=Counter[str])
    left: int = 0

    @property
    def by_kind(self) -> dict[str, int]:
        """The number of removed files of each kind, also 0."""
        return {kind: self.counts[kind] for kind in _kinds()}


def _kinds() -> tuple[str, ...]:
    """Return the kinds of files that are removed, in this order."""
    from ...actors.media import cleaning

    return cleaning.LOOSE, cleaning.CARDS, cleaning.COPIES


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that a transaction has deleted: their number, their files, and the last id, if there may be more."""

    count: int
    files: list[str]
    after: int | None


def _remove(run: Transact, folder: Folder, days: int, removed: RemovedMedia, progress: Update) -> None:
    """Delete the rows of media not used for some days, and their files, in batches.

    `removed` and `progress` are called with each batch. If it is interrupted, the next call does the rest. The audit
    log gets an entry before, because a killed command can't write it afterwards, and an entry with the numbers.
    """
    run(_log, "remove_media", days, {})
    try:
        for kind in _kinds():
            after: int | None = 0
            while after is not None:
                batch = run(_delete_some, kind, days, after)
                removed.counts[kind] += batch.count
                removed.left += _remove_files(folder, batch.files)
                progress(batch.count)
                after = batch.after
    finally:
        run(_log, "removed_media", days, removed.by_kind)


async def _count_unused(db: Connection, here: Here, days: int) -> RemovedMedia:
    """Delete all rows of media not used for some days, in a transaction that is rolled back."""
    counted = RemovedMedia()
    for kind in _kinds():
        after: int | None = 0
        while after is not None:
            batch = await _delete_some(db, here, kind, days, after)
            counted.counts[kind] += batch.count
            after = batch.after
    return counted


async def _delete_some(db: Connection, here: Here, kind: str, days: int, after: int) -> Batch:
    """Delete the next rows of a kind. The server removes the files that can't be removed here."""
    from ...actors.effects.files import RemoveFiles
    from ...actors.media import cleaning

    act, before, files = here.act, here.now - timedelta(days=days), list[str]()

    async def promise(db: Connection, promises: Sequence[Promise]) -> None:
        files.extend(
            name for promise in promises if isinstance(promise.effect, RemoveFiles) for name in promise.effect.names
        )
        act.promise(*promises)

    if kind == cleaning.CARDS:
        swept = await cleaning.delete_cards(db, promise, after, before)
        batch = Batch(swept.count, files, swept.last_id)
    else:
        delete = cleaning.delete_loose if kind == cleaning.LOOSE else cleaning.delete_copies
        gone = await delete(db, promise, before)
        batch = Batch(gone, files, 0 if gone else None)
    return batch


async def _log(db: Connection, here: Here, action: str, days: int, counts: dict[str, int]) -> None:
    from ...actors.staff.acts import Target

    await here.act.log(action, Target("media", None, number_of(days, "days")), "", **counts)


def _remove_files(folder: Folder, names: Sequence[str]) -> int:
    """Remove files whose rows are deleted. Return how many could not be removed: the server removes them later.

    No file is left at once, also without a running server: a full disk may be what keeps it from starting.
    """
    left = 0
    for name in names:
        try:
            folder.remove([name])
        except OSError:
            left += 1
    return left


def size_of(written: str) -> int:
    """Return the number of bytes of a size such as 500M or 20G."""
    number = written.strip().lower().rstrip("kmgt")
    unit = UNITS.get(written.strip().lower()[len(number) :])
    if unit is None or not (number.isascii() and number.isdecimal()) or len(number) > MOST_DIGITS:
        raise click.BadParameter(f"{written!r} is not a size such as 500M, 20G or 0.")
    return int(number) * unit


@media.command
@click.argument("size", type=size_of, required=False)
@click.option("--reset", is_flag=True, help="Go back to the default of 10G.")
@dry_run_option
@json_option
@setting_options("data")
def budget(server: ChosenServer, size: int | None, reset: bool, dry_run: bool, as_json: bool) -> None:
    """Set the budget for copies of other servers' pictures and for the pictures of cards, such as 20G.

    Without SIZE, print the budget. Every hour the server removes the least recently used files, as
    far as there are too many; copies are fetched again when they are needed. With --dry-run, show how much would go.
    """
    from ...actors.media.cleaning import BUDGET

    if size is not None and reset:
        raise click.UsageError("Choose a size, or say --reset.")
    if dry_run:
        gone: JsonObject = server.transact(_count_over_budget, BUDGET if reset else size, dry_run=True)
        if as_json:
            print_json(gone | {"dry_run": True})
        else:
            click.echo(f"Would remove {number_of(gone['files'], 'files')} with {written_size(gone['bytes'])}")
        return
    if size is not None or reset:
        server.transact(_change_budget, size)
    found: JsonObject = server.transact(_budget)
    if as_json:
        print_json(found)
    else:
        source = "chosen by staff" if found["chosen"] else "by default"
        click.echo(f"{written_size(found['budget'])} {source}, {written_size(found['used'])} used")


async def _change_budget(db: Connection, here: Here, value: int | None) -> None:
    """Choose the budget. With None it is the default again."""
    from ...actors.commands.changed_settings import change_media_budget

    require(await change_media_budget(here.act, value))


async def _budget(db: Connection, here: Here) -> JsonObject:
    """Return the budget, whether staff chose it, and how much of it is used, all in bytes."""
    from ...actors.media import cleaning
    from ...storage import changed_settings, media_budget

    chosen = await changed_settings.find_media_budget(db)
    return {
        "budget": await cleaning.budget(db),
        "chosen": chosen is not None,
        "used": await media_budget.total(db),
    }


async def _count_over_budget(db: Connection, here: Here, value: int | None) -> JsonObject:
    """Remove the files over a budget, by default the current budget. Return their number and their bytes.

    For a dry run: the caller rolls the transaction back.
    """
    from ...actors.effects.files import RemoveFiles
    from ...actors.media import cleaning
    from ...storage import media_budget

    if value is not None:
        await _change_budget(db, here, value)
    before, counts = await media_budget.total(db), Counter[str]()

    async def promise(db: Connection, promises: Sequence[Promise]) -> None:
        counts["files"] += sum(
            len(promise.effect.names) for promise in promises if isinstance(promise.effect, RemoveFiles)
        )

    while await cleaning.apply_budget(db, promise):
        pass
    return {"files": counts["files"], "bytes": before - await media_budget.total(db)}

"""`troupe statuses`: acts of staff on single posts, and posts that were deleted long ago."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage import accounts
from .chosen_server import ChosenServer
from .options import ask_first, dry_run_option, json_option, print_json, setting_options, yes_option
from .refusals import CommandRefused, require

if TYPE_CHECKING:
    from ...actors.commands.strikes import StatusAction
    from ...storage.engine.database import Connection
    from .progress import Update
    from .rows import Here, Transact

_reason = click.option("--reason", default="", metavar="TEXT", help="Why, for the audit log and the authors.")
_ids = click.argument("ids", nargs=-1, required=True, type=int, metavar="ID...")


@click.group
def statuses() -> None:
    """Posts."""


@statuses.command
@_ids
@_reason
@dry_run_option
@yes_option
@setting_options("data")
def remove(server: ChosenServer, ids: tuple[int, ...], reason: str, dry_run: bool, yes: bool) -> None:
    """Remove posts with their media. Their authors get a mail, and can appeal."""
    if not dry_run:
        ask_first(lambda: f"Removed posts can't come back. Remove {number_of(len(ids), 'posts')}?", yes=yes)
    done = server.transact(_act, ids, "delete_statuses", reason, dry_run=dry_run)
    click.echo(f"{'Would remove' if dry_run else 'Removed'} {number_of(len(ids), 'posts')} of {done}")


@statuses.command
@_ids
@_reason
@dry_run_option
@setting_options("data")
def sensitive(server: ChosenServer, ids: tuple[int, ...], reason: str, dry_run: bool) -> None:
    """Mark posts as sensitive. Their authors get a mail, and can appeal."""
    done = server.transact(_act, ids, "mark_statuses_as_sensitive", reason, dry_run=dry_run)
    click.echo(f"{'Would mark' if dry_run else 'Marked'} {number_of(len(ids), 'posts')} of {done} as sensitive")


async def _act(db: Connection, here: Here, status_ids: Sequence[int], action: StatusAction, reason: str) -> str:
    """Act on statuses, a strike for each author, who is sent a mail. Return their names."""
    from ...actors.commands.strikes import ModerateStatuses, strike_statuses
    from ...storage import statuses

    found = await statuses.find_many(db, status_ids)
    if missing := [id for id in status_ids if id not in found]:
        raise CommandRefused(f"there is no post {missing[0]}.")
    authors = sorted({status.account_id for status in found.values()})
    for author in authors:
        own = tuple(id for id, status in found.items() if status.account_id == author)
        message = ModerateStatuses(here.staff, action, own, reason, mailed=True)
        require(await strike_statuses(here.act, author, message))
    named = await accounts.find_many(db, authors)
    return ", ".join(f"@{named[author].acct}" for author in authors)


@statuses.command
@dry_run_option
@json_option
@setting_options("data")
def vacuum(server: ChosenServer, dry_run: bool, as_json: bool) -> None:
    """Erase the posts that were deleted more than 30 days ago, as the server does every hour.

    Posts that an open report names are kept.
    """
    from .progress import progress

    with server.transactions() as run:
        erased, kept = run(_count_deleted)
        if not dry_run:
            going_on = "These are erased. Run the same command again for the others."
            with progress("Erasing posts", erased, going_on, things="posts") as update:
                erased = _erase(run, update)
    if as_json:
        print_json({"erased": erased, "kept": kept, "dry_run": dry_run})
    else:
        click.echo(f"{'Would erase' if dry_run else 'Erased'} {number_of(erased, 'posts')}. Open reports keep {kept}.")


async def _count_deleted(db: Connection, here: Here) -> tuple[int, int]:
    """Return how many posts can be erased, and how many open reports keep."""
    from ...actors.housekeeping.expiry import DELETED_STATUSES
    from ...storage.upkeep import expiry

    (kept,) = DELETED_STATUSES.kept
    return await expiry.count_statuses(db, here.now - kept)


def _erase(run: Transact, progress: Update) -> int:
    """Erase posts in batches, and return how many. `progress` is called with each batch."""
    erased = 0
    while gone := run(_erase_some):
        erased += gone
        progress(gone)
    return erased


async def _erase_some(db: Connection, here: Here) -> int:
    from ...actors.housekeeping.expiry import BATCH, DELETED_STATUSES

    return len(await DELETED_STATUSES.deletion.run(db, *DELETED_STATUSES.bounds(here.now), BATCH))

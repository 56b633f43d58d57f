"""`troupe statuses`: acts of staff on single posts."""

from __future__ import annotations

from pathlib import Path

import click

from ...actors.rules.wording import number_of
from .options import (
    CommandRefused,
    ask_first,
    dry_run_option,
    json_option,
    print_json,
    setting_options,
    settings_from,
    yes_option,
)


@click.group
def statuses() -> None:
    """Posts."""


_reason = click.option("--reason", default="", metavar="TEXT", help="Why, for the audit log and the authors.")
_ids = click.argument("ids", nargs=-1, required=True, type=int, metavar="ID...")


@statuses.command
@_ids
@_reason
@dry_run_option
@yes_option
@setting_options("data")
def remove(ids: tuple[int, ...], reason: str, dry_run: bool, yes: bool, data: str | None, config: Path | None) -> None:
    """Remove posts with their media. Their authors are told by a mail, and can appeal."""
    if not dry_run:
        ask_first(lambda: f"Removed posts can't come back. Remove {number_of(len(ids), 'posts')}?", yes=yes)
    done = _act("delete_statuses", ids, reason, data, config, dry_run=dry_run)
    click.echo(f"{'Would remove' if dry_run else 'Removed'} {number_of(len(ids), 'posts')} of {done}")


@statuses.command
@_ids
@_reason
@dry_run_option
@setting_options("data")
def sensitive(ids: tuple[int, ...], reason: str, dry_run: bool, data: str | None, config: Path | None) -> None:
    """Mark posts as sensitive. Their authors are told by a mail, and can appeal."""
    done = _act("mark_statuses_as_sensitive", ids, reason, data, config, dry_run=dry_run)
    click.echo(f"{'Would mark' if dry_run else 'Marked'} {number_of(len(ids), 'posts')} of {done} as sensitive")


@statuses.command
@dry_run_option
@json_option
@setting_options("data")
def vacuum(dry_run: bool, as_json: bool, data: str | None, config: Path | None) -> None:
    """Erase the posts that were deleted more than 30 days ago, as the server does every hour.

    Those that an open report names are kept.
    """
    from .progress import progress
    from .rows import transactions
    from .vacuuming import count_statuses, erase_statuses

    with transactions(settings_from(config, data=data)) as run:
        erased, kept = run(count_statuses)
        if not dry_run:
            going_on = "These are erased. Run the same command again for the others."
            with progress("Erasing posts", erased, going_on, things="posts") as update:
                erased = erase_statuses(run, update)
    if as_json:
        print_json({"erased": erased, "kept": kept, "dry_run": dry_run})
    else:
        click.echo(f"{'Would erase' if dry_run else 'Erased'} {number_of(erased, 'posts')}. Open reports keep {kept}.")


def _act(
    action: str, ids: tuple[int, ...], reason: str, data: str | None, config: Path | None, *, dry_run: bool
) -> str:
    from .appealing import act_on
    from .finding import InvalidAccount
    from .rows import transact

    try:
        authors = transact(settings_from(config, data=data), act_on, ids, action, reason, dry_run=dry_run)
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None
    return ", ".join(f"@{author}" for author in authors)

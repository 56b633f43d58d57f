"""`troupe outbox`: the effects of committed changes that wait, fail, or are not to happen."""

from __future__ import annotations

from pathlib import Path

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .acting import act
from .options import (
    ask_first,
    dry_run_option,
    json_option,
    print_json,
    print_list,
    setting_options,
    settings_from,
    yes_option,
)

queue_option = click.option("--queue", metavar="QUEUE", help="Only of this queue, such as `deliveries` or `mail`.")
kind_option = click.option("--kind", metavar="KIND", help="Only of this kind, such as `delivery` or `push`.")


@click.group
def outbox() -> None:
    """Effects that wait: mails, pushes, deliveries, and others that committed changes have promised."""


@outbox.command("list")
@json_option
@queue_option
@kind_option
@click.option("--failed", is_flag=True, help="Only those whose last try failed.")
@click.option("--text", is_flag=True, help="Do not mask texts that may be of people.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most effects.")
@setting_options("data")
def list_(
    as_json: bool,
    queue: str | None,
    kind: str | None,
    failed: bool,
    text: bool,
    limit: int,
    data: str | None,
    config: Path | None,
) -> None:
    """List effects, the oldest first: id, kind, for what, state, tries, when the next is due, the last error."""
    from ...storage.outbox_upkeep import ChosenEffects
    from .stuck import list_effects

    found = act(config, list_effects, ChosenEffects(None, queue, kind, failed), limit, text, data=data)
    print_list(found, _line, as_json=as_json)


@outbox.command
@json_option
@click.argument("ids", nargs=-1, type=int)
@queue_option
@kind_option
@click.option("--all", "everything", is_flag=True, help="Retry all that failed.")
@dry_run_option
@setting_options("data")
def retry(
    as_json: bool,
    ids: tuple[int, ...],
    queue: str | None,
    kind: str | None,
    everything: bool,
    dry_run: bool,
    data: str | None,
    config: Path | None,
) -> None:
    """Try effects now that failed and wait for another try: those with these IDS, of a queue or kind, or all.

    Servers that are left alone for a while get nothing before: `troupe federation retry HOST` ends that.
    """
    from ...storage.outbox_upkeep import ChosenEffects
    from .repairing import retry_effects

    _check(ids, queue, kind, everything=everything)
    chosen = ChosenEffects(ids or None, queue, kind)
    count = act(config, retry_effects, chosen, dry_run=dry_run, data=data)
    _print("retried", "Would retry" if dry_run else "Retrying", count, dry_run, as_json=as_json)


@outbox.command
@json_option
@click.argument("ids", nargs=-1, type=int)
@queue_option
@kind_option
@click.option("--failed", is_flag=True, help="Only those whose last try failed.")
@click.option("--all", "everything", is_flag=True, help="Drop all.")
@dry_run_option
@yes_option
@setting_options("data")
def drop(
    as_json: bool,
    ids: tuple[int, ...],
    queue: str | None,
    kind: str | None,
    failed: bool,
    everything: bool,
    dry_run: bool,
    yes: bool,
    data: str | None,
    config: Path | None,
) -> None:
    """Delete effects, so that they never happen: those with these IDS, of a queue or kind, or all.

    Those that the server carries out at this moment are left.
    """
    from ...storage.outbox_upkeep import ChosenEffects
    from .repairing import drop_effects
    from .rows import transactions

    _check(ids, queue, kind, everything=everything or failed)
    if not dry_run:
        ask_first(lambda: "Delete these effects, so that they never happen?", yes=yes)
    with transactions(settings_from(config, data=data)) as run:
        count = drop_effects(run, ChosenEffects(ids or None, queue, kind, failed), dry_run=dry_run)
    _print("dropped", "Would drop" if dry_run else "Dropped", count, dry_run, as_json=as_json)


def _check(ids: tuple[int, ...], queue: str | None, kind: str | None, *, everything: bool) -> None:
    if not (ids or queue or kind or everything):
        raise click.UsageError("Name effects by their ids, a --queue or a --kind, or say --all.")


def _print(done: str, text: str, count: int, dry_run: bool, *, as_json: bool) -> None:
    if as_json:
        print_json({done: count, "dry_run": dry_run})
    else:
        click.echo(f"{text} {number_of(count, 'effects')}")


def _line(one: JsonObject) -> str:
    names = ("id", "kind", "group", "state", "attempts", "due_at", "error")
    return "\t".join("" if one[name] is None else str(one[name]) for name in names)

"""`troupe outbox`: the effects of committed changes that wait, fail, or are not to happen."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import ask_first, dry_run_option, json_option, print_json, print_list, setting_options, yes_option
from .refusals import CommandRefused, require

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from ...storage.upkeep.outbox_upkeep import ChosenEffects, WaitingEffect
    from .rows import Here, Transact

AT_ONCE = 500  # effects that a transaction drops

queue_option = click.option("--queue", metavar="QUEUE", help="Only of this queue, such as `deliveries` or `mail`.")
kind_option = click.option("--kind", metavar="KIND", help="Only of this kind, such as `delivery` or `push`.")


@click.group
def outbox() -> None:
    """Waiting effects: mails, pushes, deliveries, and others that committed changes have queued."""


@outbox.command("list")
@json_option
@queue_option
@kind_option
@click.option("--failed", is_flag=True, help="Only effects whose last try failed.")
@click.option("--text", is_flag=True, help="Do not mask texts that may be of people.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most effects.")
@setting_options("data")
def list_(
    server: ChosenServer, as_json: bool, queue: str | None, kind: str | None, failed: bool, text: bool, limit: int
) -> None:
    """List effects, the oldest first: id, kind, partition, state, tries, time of the next try, the last error."""
    from ...storage.upkeep.outbox_upkeep import ChosenEffects

    found = server.transact(_waiting, ChosenEffects(None, queue, kind, failed), limit, text)
    print_list(found, _line, as_json=as_json)


async def _waiting(db: Connection, here: Here, chosen: ChosenEffects, limit: int, text: bool) -> list[JsonObject]:
    """Return effects, the oldest first, as JSON."""
    from ...storage.upkeep import outbox_upkeep

    return [_effect(effect, here.now, text=text) for effect in await outbox_upkeep.waiting(db, chosen, limit)]


def _effect(effect: WaitingEffect, now: datetime, *, text: bool) -> JsonObject:
    from ...actors.housekeeping.masking import masked
    from ..log.redaction import redacted

    error = None if effect.error is None else effect.error if text else redacted(effect.error)
    is_running = effect.claimed_until is not None and effect.claimed_until > now
    return {
        "id": str(effect.id),
        "queue": effect.queue,
        "kind": effect.kind,
        "partition": effect.key,
        "group": effect.group,
        "state": "carried out" if is_running else "due" if effect.due_at <= now else "failed" if error else "later",
        "created_at": effect.created_at.isoformat(),
        "due_at": effect.due_at.isoformat(),
        "attempts": effect.attempts,
        "error": error,
        "request_id": effect.request_id,
        "contents": effect.payload if text else masked(effect.payload),
    }


def _line(effect: JsonObject) -> str:
    names = ("id", "kind", "group", "state", "attempts", "due_at", "error")
    return "\t".join("" if effect[name] is None else str(effect[name]) for name in names)


@outbox.command
@json_option
@click.argument("ids", nargs=-1, type=int)
@queue_option
@kind_option
@click.option("--all", "everything", is_flag=True, help="Retry all that failed.")
@dry_run_option
@setting_options("data")
def retry(
    server: ChosenServer,
    as_json: bool,
    ids: tuple[int, ...],
    queue: str | None,
    kind: str | None,
    everything: bool,
    dry_run: bool,
) -> None:
    """Retry failed effects now: the effects with these IDS, of a queue or kind, or all.

    Servers that are left alone for a while get nothing before: `troupe federation retry HOST` ends that.
    """
    from ...storage.upkeep.outbox_upkeep import ChosenEffects

    _check(ids, queue, kind, everything=everything)
    chosen = ChosenEffects(ids or None, queue, kind)
    count = server.transact(_retry, chosen, dry_run=dry_run)
    _print("retried", "Would retry" if dry_run else "Retrying", count, dry_run, as_json=as_json)


async def _retry(db: Connection, here: Here, chosen: ChosenEffects) -> int:
    from ...actors.staff.repairs import retry_effects

    return require(await retry_effects(here.act, chosen))


@outbox.command
@json_option
@click.argument("ids", nargs=-1, type=int)
@queue_option
@kind_option
@click.option("--failed", is_flag=True, help="Only effects whose last try failed.")
@click.option("--all", "everything", is_flag=True, help="Drop all.")
@dry_run_option
@yes_option
@setting_options("data")
def drop(
    server: ChosenServer,
    as_json: bool,
    ids: tuple[int, ...],
    queue: str | None,
    kind: str | None,
    failed: bool,
    everything: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete effects, so that they never run: the effects with these IDS, of a queue or kind, or all.

    Effects that the server is running at this moment are left.
    """
    from ...storage.upkeep.outbox_upkeep import ChosenEffects

    _check(ids, queue, kind, everything=everything or failed)
    if not dry_run:
        ask_first(lambda: "Delete these effects, so that they never happen?", yes=yes)
    with server.transactions() as run:
        count = _drop(run, ChosenEffects(ids or None, queue, kind, failed), dry_run=dry_run)
    _print("dropped", "Would drop" if dry_run else "Dropped", count, dry_run, as_json=as_json)


def _drop(run: Transact, chosen: ChosenEffects, *, dry_run: bool) -> int:
    """Drop effects, in batches. A rehearsal is rolled back, so it needs a single transaction."""
    if dry_run:
        return run(_drop_some, chosen, 2**31, dry_run=True)
    dropped = 0
    while some := run(_drop_some, chosen, AT_ONCE):
        dropped += some
    return dropped


async def _drop_some(db: Connection, here: Here, chosen: ChosenEffects, most: int) -> int:
    from ...actors.staff import repairs

    try:
        return require(await repairs.drop_effects(here.act, chosen, most))
    except repairs.NotDropped as error:
        raise CommandRefused(str(error)) from error


def _check(ids: tuple[int, ...], queue: str | None, kind: str | None, *, everything: bool) -> None:
    if not (ids or queue or kind or everything):
        raise click.UsageError("Name effects by their ids, a --queue or a --kind, or say --all.")


def _print(done: str, text: str, count: int, dry_run: bool, *, as_json: bool) -> None:
    if as_json:
        print_json({done: count, "dry_run": dry_run})
    else:
        click.echo(f"{text} {number_of(count, 'effects')}")

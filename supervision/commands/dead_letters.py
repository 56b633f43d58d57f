"""`troupe dead-letters`: messages that crashed their actor twice, read, sent again, or deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from ...storage.upkeep.paging import Page
from .chosen_server import ChosenServer
from .options import ask_first, dry_run_option, json_option, print_json, print_list, setting_options, yes_option
from .refusals import CommandRefused, require
from .running_server import ask_server

if TYPE_CHECKING:
    from ...storage.dead_letters import DeadLetter
    from ...storage.engine.database import Connection
    from .rows import Here

text_option = click.option("--text", is_flag=True, help="Do not mask texts that people wrote.")


@click.group("dead-letters")
def dead_letters() -> None:
    """Messages that crashed their actor twice. They are kept for 30 days."""


@dead_letters.command("list")
@json_option
@text_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most letters.")
@setting_options("data")
def list_(server: ChosenServer, as_json: bool, text: bool, limit: int) -> None:
    """List them, the latest first: id, time, actor, message, error."""
    print_list(server.transact(_found, limit, text), _line, as_json=as_json)


async def _found(db: Connection, here: Here, limit: int, text: bool) -> list[JsonObject]:
    """Return parked messages, the latest first, as JSON."""
    from ...storage import dead_letters

    return [_shown(letter, text=text) for letter in await dead_letters.page(db, Page(limit))]


def _line(letter: JsonObject) -> str:
    return "\t".join(str(letter[name]) for name in ("id", "created_at", "address", "message", "error"))


@dead_letters.command
@json_option
@text_option
@click.argument("id", type=int)
@setting_options("data")
def show(server: ChosenServer, as_json: bool, text: bool, id: int) -> None:
    """Show a dead letter with all its fields. Texts of people are masked unless --text is given."""
    letter = _shown(server.transact(_find, id), text=text)
    if as_json:
        print_json(letter)
        return
    for name in ("id", "created_at", "address", "message", "error", "request_id"):
        click.echo(f"{name}: {letter[name]}")
    click.echo(f"causes: {' → '.join(letter['causes'])}")
    click.echo(json.dumps(letter["contents"], indent=2, ensure_ascii=False))


async def _find(db: Connection, here: Here, id: int) -> DeadLetter:
    """Return a parked message. Raises CommandRefused if there is none."""
    from ...storage import dead_letters

    letter = await dead_letters.find(db, id)
    if letter is None:
        raise CommandRefused(f"There is no dead letter {id}.")
    return letter


def _shown(letter: DeadLetter, *, text: bool) -> JsonObject:
    """Return a parked message as JSON. Unless `text` is asked for, texts that people wrote are masked."""
    from ...actors.housekeeping.masking import masked
    from ..log.redaction import redacted

    return {
        "id": str(letter.id),
        "created_at": letter.created_at.isoformat(),
        "address": letter.address,
        "message": letter.kind,
        "error": letter.error if text else redacted(letter.error),
        "request_id": letter.request_id,
        "causes": list(letter.causes),
        "contents": letter.message if text else masked(letter.message),
    }


@dead_letters.command
@json_option
@click.argument("id", type=int)
@setting_options("data", "node")
def replay(server: ChosenServer, as_json: bool, id: int) -> None:
    """Send a dead letter again to its actor in the running server, after its cause was repaired.

    It is deleted when the actor has handled it. If the actor crashes once more, it stays.
    """
    letter = server.transact(_find, id)
    ask_server(server.settings, "replay", id=id)
    server.transact(_delete_replayed, letter)
    if as_json:
        print_json({"id": str(id), "replayed": True})
    else:
        click.echo(f"{letter.address} has handled {letter.kind}")


async def _delete_replayed(db: Connection, here: Here, letter: DeadLetter) -> None:
    from ...actors.staff.repairs import delete_replayed

    require(await delete_replayed(here.act, letter))


@dead_letters.command
@json_option
@click.argument("ids", nargs=-1, type=int)
@click.option("--all", "everything", is_flag=True, help="Drop all.")
@dry_run_option
@yes_option
@setting_options("data")
def drop(server: ChosenServer, as_json: bool, ids: tuple[int, ...], everything: bool, dry_run: bool, yes: bool) -> None:
    """Delete the dead letters with these IDS, or all."""
    if bool(ids) == everything:
        raise click.UsageError("Name letters by their ids, or say --all.")
    if not dry_run:
        ask_first(lambda: "Delete these messages, so that they are never handled?", yes=yes)
    count = server.transact(_drop, ids or None, dry_run=dry_run)
    if as_json:
        print_json({"dropped": count, "dry_run": dry_run})
    else:
        click.echo(f"{'Would drop' if dry_run else 'Dropped'} {number_of(count, 'dead letters')}")


async def _drop(db: Connection, here: Here, only: Sequence[int] | None) -> int:
    from ...actors.staff.repairs import drop_letters

    return require(await drop_letters(here.act, only))

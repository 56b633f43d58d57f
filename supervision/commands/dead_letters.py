"""`troupe dead-letters`: messages that crashed their actor twice, read, sent again, or deleted."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .acting import act
from .asking import ask_server
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

text_option = click.option("--text", is_flag=True, help="Do not mask texts that people wrote.")


@click.group("dead-letters")
def dead_letters() -> None:
    """Messages that crashed their actor twice. They are kept for 30 days."""


@dead_letters.command("list")
@json_option
@text_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most letters.")
@setting_options("data")
def list_(as_json: bool, text: bool, limit: int, data: str | None, config: Path | None) -> None:
    """List them, the latest first: id, time, actor, message, error."""
    from .stuck import list_letters

    print_list(act(config, list_letters, limit, text, data=data), _line, as_json=as_json)


@dead_letters.command
@json_option
@text_option
@click.argument("id", type=int)
@setting_options("data")
def show(as_json: bool, text: bool, id: int, data: str | None, config: Path | None) -> None:
    """Show one with all its fields. Texts that people wrote are masked unless --text is given."""
    from .stuck import find_letter, letter_shown

    letter = letter_shown(act(config, find_letter, id, data=data), text=text)
    if as_json:
        print_json(letter)
        return
    for name in ("id", "created_at", "address", "message", "error", "request_id"):
        click.echo(f"{name}: {letter[name]}")
    click.echo(f"causes: {' → '.join(letter['causes'])}")
    click.echo(json.dumps(letter["contents"], indent=2, ensure_ascii=False))


@dead_letters.command
@json_option
@click.argument("id", type=int)
@setting_options("data", "node")
def replay(as_json: bool, id: int, data: str | None, node: str | None, config: Path | None) -> None:
    """Send one again, to its actor in the running server, after its cause was repaired.

    It is deleted when the actor has handled it. If the actor crashes once more, it stays.
    """
    from .repairing import delete_replayed
    from .stuck import find_letter

    settings = settings_from(config, data=data, node=node)
    letter = act(config, find_letter, id, data=data)
    ask_server(settings, "replay", id=id)
    act(config, delete_replayed, letter, data=data)
    if as_json:
        print_json({"id": str(id), "replayed": True})
    else:
        click.echo(f"{letter.address} has handled {letter.kind}")


@dead_letters.command
@json_option
@click.argument("ids", nargs=-1, type=int)
@click.option("--all", "everything", is_flag=True, help="Drop all.")
@dry_run_option
@yes_option
@setting_options("data")
def drop(
    as_json: bool,
    ids: tuple[int, ...],
    everything: bool,
    dry_run: bool,
    yes: bool,
    data: str | None,
    config: Path | None,
) -> None:
    """Delete those with these IDS, or all."""
    from .repairing import drop_letters

    if bool(ids) == everything:
        raise click.UsageError("Name letters by their ids, or say --all.")
    if not dry_run:
        ask_first(lambda: "Delete these messages, so that they are never handled?", yes=yes)
    count = act(config, drop_letters, ids or None, dry_run=dry_run, data=data)
    if as_json:
        print_json({"dropped": count, "dry_run": dry_run})
    else:
        click.echo(f"{'Would drop' if dry_run else 'Dropped'} {number_of(count, 'dead letters')}")


def _line(one: JsonObject) -> str:
    return "\t".join(str(one[name]) for name in ("id", "created_at", "address", "message", "error"))

"""`troupe terms`: the terms of service."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import click

from ...storage.engine.json_values import JsonObject
from .options import ask_first, json_option, print_list, setting_options, yes_option

_day = click.DateTime(["%Y-%m-%d"])


@click.group
def terms() -> None:
    """Terms of service, each in force from a day on until the next ones.

    They are the files `texts/terms/DATE.md` of the data folder. Run these commands as the user of the server, on the
    machine with its data folder.
    """


@terms.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the terms, one a line: the day from which they are in force, and the state today."""
    from .publishing_terms import listed

    print_list(listed(config, data, datetime.now(UTC).date()), _line, as_json=as_json)


@terms.command
@click.argument("file", type=click.File("rb"))
@click.option("--date", "day", type=_day, required=True, metavar="DATE", help="The first day, such as 2026-12-01.")
@click.option("--replace", is_flag=True, help="Change the terms of this day, if there are some.")
@setting_options("data")
def publish(file: BinaryIO, day: datetime, replace: bool, data: str | None, config: Path | None) -> None:
    """Publish FILE, a text in Markdown, as the terms from a day on; `-` reads standard input."""
    from ...storage.policies import LARGEST_FILE
    from .publishing_terms import publish as publish_terms

    publish_terms(config, data, day.date(), file.read(LARGEST_FILE + 1), replace=replace)
    click.echo(f"Published the terms of {day.date()}")


@terms.command
@click.argument("day", type=_day, metavar="DATE")
@yes_option
@setting_options("data")
def remove(day: datetime, yes: bool, data: str | None, config: Path | None) -> None:
    """Remove the terms of a day. If they are in force, those before them are again."""
    from .publishing_terms import remove as remove_terms

    ask_first(lambda: f"People can't read the terms of {day.date()} any more then. Remove them?", yes=yes)
    remove_terms(config, data, day.date())
    click.echo(f"Removed the terms of {day.date()}")


def _line(one: JsonObject) -> str:
    return f"{one['date']}\t{one['state']}"

"""`troupe terms`: the terms of service."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, BinaryIO

import click

from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import ask_first, json_option, print_list, setting_options, yes_option
from .refusals import require

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here

TAKEN = 409  # the status of the refusal to publish terms for a day that has some

_day = click.DateTime(["%Y-%m-%d"])


@click.group
def terms() -> None:
    """Terms of service, each in force from a day on until the next terms.

    They are the files `texts/terms/DATE.md` of the data folder. Run these commands as the user of the server, on the
    machine with its data folder.
    """


@terms.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the terms, one a line: the day from which they are in force, and the state today."""
    from ...actors.rules.documents import terms_on
    from ...storage.operator_texts import read_terms
    from .text_files import reading, texts_folder

    today = datetime.now(UTC).date()
    with reading():
        found = read_terms(texts_folder(server.settings))
    in_force = terms_on(today, [effective for effective, _ in found])
    listed = [
        {
            "date": effective.isoformat(),
            "state": "in force" if effective == in_force else "past" if effective <= today else "future",
            "characters": len(source.markdown),
            "changed_at": source.updated_at.isoformat(),
        }
        for effective, source in found
    ]
    print_list(listed, _line, as_json=as_json)


def _line(terms: JsonObject) -> str:
    return f"{terms['date']}\t{terms['state']}"


@terms.command
@click.argument("file", type=click.File("rb"))
@click.option("--date", "day", type=_day, required=True, metavar="DATE", help="The first day, such as 2026-12-01.")
@click.option("--replace", is_flag=True, help="Change the terms of this day, if there are some.")
@setting_options("data")
def publish(server: ChosenServer, file: BinaryIO, day: datetime, replace: bool) -> None:
    """Publish FILE, a text in Markdown, as the terms from a day on; `-` reads standard input."""
    from ...storage.operator_texts import LARGEST_FILE
    from .text_files import refusing

    raw = file.read(LARGEST_FILE + 1)
    with refusing({TAKEN: "--replace changes them."}):
        server.transact(_publish, day.date(), raw, replace)
    click.echo(f"Published the terms of {day.date()}")


async def _publish(db: Connection, here: Here, effective: date, raw: bytes, replace: bool) -> None:
    """Write terms of service that are in force from a day on."""
    from ...actors.staff.operator_texts import publish_terms
    from .text_files import texts_folder

    require(await publish_terms(here.act, texts_folder(here.settings), effective, raw, change=replace))


@terms.command
@click.argument("day", type=_day, metavar="DATE")
@yes_option
@setting_options("data")
def remove(server: ChosenServer, day: datetime, yes: bool) -> None:
    """Remove the terms of a day. If they are in force, the terms before them are again."""
    from .text_files import refusing

    ask_first(lambda: f"People can't read the terms of {day.date()} any more then. Remove them?", yes=yes)
    with refusing():
        server.transact(_remove, day.date())
    click.echo(f"Removed the terms of {day.date()}")


async def _remove(db: Connection, here: Here, effective: date) -> None:
    from ...actors.staff.operator_texts import remove_terms
    from .text_files import texts_folder

    require(await remove_terms(here.act, texts_folder(here.settings), effective))

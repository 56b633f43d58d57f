"""`troupe announcements`: notices to all users."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from ..settings.domain import require_domain
from .chosen_server import ChosenServer
from .options import ask_first, json_option, print_list, setting_options, yes_option
from .refusals import CommandRefused, WrongValue, require

if TYPE_CHECKING:
    from ...actors.commands.announcements import NewAnnouncement
    from ...storage.engine.database import Connection
    from .rows import Here

LISTED_CHARACTERS = 60


@click.group
def announcements() -> None:
    """Announcements to all users of this server.

    Times are written as 2026-12-24T18:00:00+01:00; without an offset they are UTC.
    """


@announcements.command
@click.argument("text")
@click.option("--starts", metavar="TIME", help="When the announced event begins.")
@click.option("--ends", metavar="TIME", help="When it ends: the announcement is not shown any more then.")
@click.option("--all-day", is_flag=True, help="The event takes whole days; write the times as dates.")
@click.option("--at", metavar="TIME", help="Show the announcement from this time on.  [default: now]")
@click.option("--draft", is_flag=True, help="Do not show it yet; `publish` does.")
@setting_options("data", "domain")
def add(
    server: ChosenServer, text: str, starts: str | None, ends: str | None, all_day: bool, at: str | None, draft: bool
) -> None:
    """Announce TEXT, which is plain text of at most 5000 characters; `-` reads standard input."""
    from ...actors.commands.announcements import InvalidAnnouncement, NewAnnouncement

    try:
        wanted = NewAnnouncement.of(
            sys.stdin.read() if text == "-" else text, starts, ends, at, all_day=all_day, draft=draft
        )
    except InvalidAnnouncement as unfit:
        raise WrongValue(f"{unfit}.") from None
    click.echo(f"Added announcement {server.transact(_add, wanted)}")


async def _add(db: Connection, here: Here, wanted: NewAnnouncement) -> int:
    """Make an announcement and return its id."""
    from ...actors.commands.announcements import AddAnnouncement, add

    await require_domain(db, here.settings, here.act.server.base_url)
    return require(await add(here.act, AddAnnouncement(here.staff, wanted)))


@announcements.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the announcements: id, state, and the beginning of the text."""
    print_list(server.transact(_found), _line, as_json=as_json)


async def _found(db: Connection, here: Here) -> list[JsonObject]:
    """Return all announcements, as JSON."""
    from ...actors.commands.announcements import state_of
    from ...storage import announcements

    return [
        {
            "id": str(announcement.id),
            "state": state_of(announcement, here.now),
            "text": announcement.text,
            "starts_at": _written(announcement.starts_at),
            "ends_at": _written(announcement.ends_at),
            "all_day": announcement.all_day,
            "published_at": _written(announcement.published_at),
        }
        for announcement in await announcements.find_all(db)
    ]


def _written(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _line(announcement: JsonObject) -> str:
    return (
        f"{announcement['id']}\t{announcement['state']}\t{' '.join(announcement['text'].split())[:LISTED_CHARACTERS]}"
    )


@announcements.command
@click.argument("announcement_id", metavar="ID", type=int)
@click.option("--at", metavar="TIME", help="Show it from this time on.  [default: now]")
@setting_options("data")
def publish(server: ChosenServer, announcement_id: int, at: str | None) -> None:
    """Show an announcement, now or from a time on."""
    from ...actors.commands.announcements import InvalidAnnouncement, instant_of

    try:
        due = at and instant_of(at)
    except InvalidAnnouncement as unfit:
        raise WrongValue(f"{unfit}.") from None
    server.transact(_publish, announcement_id, due)
    click.echo(f"Published announcement {announcement_id}")


async def _publish(db: Connection, here: Here, id: int, at: datetime | None) -> None:
    from ...actors.commands.announcements import ShowAnnouncement, show

    _require(id, await show(here.act, ShowAnnouncement(here.staff, id, shown=True, at=at)))


@announcements.command
@click.argument("announcement_id", metavar="ID", type=int)
@setting_options("data")
def unpublish(server: ChosenServer, announcement_id: int) -> None:
    """Take an announcement back. It is kept as a draft, with its reactions."""
    server.transact(_unpublish, announcement_id)
    click.echo(f"Took back announcement {announcement_id}")


async def _unpublish(db: Connection, here: Here, id: int) -> None:
    from ...actors.commands.announcements import ShowAnnouncement, show

    _require(id, await show(here.act, ShowAnnouncement(here.staff, id, shown=False)))


@announcements.command
@click.argument("announcement_id", metavar="ID", type=int)
@yes_option
@setting_options("data")
def remove(server: ChosenServer, announcement_id: int, yes: bool) -> None:
    """Delete an announcement with its reactions."""
    ask_first(lambda: f"Delete announcement {announcement_id} with its reactions?", yes=yes)
    server.transact(_remove, announcement_id)
    click.echo(f"Removed announcement {announcement_id}")


async def _remove(db: Connection, here: Here, id: int) -> None:
    from ...actors.commands.announcements import RemoveAnnouncement, remove

    _require(id, await remove(here.act, RemoveAnnouncement(here.staff, id)))


def _require(id: int, outcome: object) -> None:
    """Raise CommandRefused if the announcement does not exist."""
    from ...actors.kernel.errors import Refused

    if isinstance(outcome, Refused):
        raise CommandRefused(f"there is no announcement {id}.")

"""`troupe announcements`: what the operator tells all users."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ...storage.engine.json_values import JsonObject
from .acting import WrongValue
from .options import CommandRefused, ask_first, json_option, print_list, setting_options, settings_from, yes_option

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
    text: str,
    starts: str | None,
    ends: str | None,
    all_day: bool,
    at: str | None,
    draft: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Announce TEXT, which is plain text of at most 5000 characters; `-` reads standard input."""
    from ...actors.announcing import InvalidAnnouncement, NewAnnouncement
    from .announcing import add_announcement
    from .rows import transact

    settings = settings_from(config, data=data, domain=domain)
    try:
        wanted = NewAnnouncement.of(
            sys.stdin.read() if text == "-" else text, starts, ends, at, all_day=all_day, draft=draft
        )
    except InvalidAnnouncement as unfit:
        raise WrongValue(f"{unfit}.") from None
    try:
        id = transact(settings, add_announcement, settings, wanted)
    except InvalidAnnouncement as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Added announcement {id}")


@announcements.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the announcements: id, state, and the beginning of the text."""
    from .announcing import find_announcements
    from .rows import transact

    print_list(transact(settings_from(config, data=data), find_announcements), _line, as_json=as_json)


@announcements.command
@click.argument("announcement_id", metavar="ID", type=int)
@click.option("--at", metavar="TIME", help="Show it from this time on.  [default: now]")
@setting_options("data")
def publish(announcement_id: int, at: str | None, data: str | None, config: Path | None) -> None:
    """Show an announcement, now or from a time on."""
    from ...actors.announcing import InvalidAnnouncement, instant_of
    from .announcing import publish_announcement
    from .rows import transact

    settings = settings_from(config, data=data)
    try:
        due = at and instant_of(at)
    except InvalidAnnouncement as unfit:
        raise WrongValue(f"{unfit}.") from None
    try:
        transact(settings, publish_announcement, announcement_id, due)
    except InvalidAnnouncement as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Published announcement {announcement_id}")


@announcements.command
@click.argument("announcement_id", metavar="ID", type=int)
@setting_options("data")
def unpublish(announcement_id: int, data: str | None, config: Path | None) -> None:
    """Take an announcement back. It is kept as a draft, with its reactions."""
    from ...actors.announcing import InvalidAnnouncement
    from .announcing import unpublish_announcement
    from .rows import transact

    try:
        transact(settings_from(config, data=data), unpublish_announcement, announcement_id)
    except InvalidAnnouncement as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Took back announcement {announcement_id}")


@announcements.command
@click.argument("announcement_id", metavar="ID", type=int)
@yes_option
@setting_options("data")
def remove(announcement_id: int, yes: bool, data: str | None, config: Path | None) -> None:
    """Delete an announcement with its reactions."""
    from ...actors.announcing import InvalidAnnouncement
    from .announcing import remove_announcement
    from .rows import transact

    ask_first(lambda: f"Delete announcement {announcement_id} with its reactions?", yes=yes)
    try:
        transact(settings_from(config, data=data), remove_announcement, announcement_id)
    except InvalidAnnouncement as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(f"Removed announcement {announcement_id}")


def _line(one: JsonObject) -> str:
    return f"{one['id']}\t{one['state']}\t{' '.join(one['text'].split())[:LISTED_CHARACTERS]}"

"""`troupe reports`: what users have reported, and what becomes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import click

from ...storage.engine.json_values import JsonObject
from .options import CommandRefused, json_option, print_json, print_list, setting_options, settings_from

# Of any type: each command knows what its transaction returns.
Outcome: TypeAlias = Any

MOST_LISTED = 1000
LISTED_CHARACTERS = 60

_id = click.argument("report_id", metavar="ID", type=int)


@click.group
def reports() -> None:
    """Reports of users."""


@reports.command("list")
@click.option("--resolved", is_flag=True, help="List the resolved reports instead of the open ones.")
@click.option("--by", metavar="NAME", help="Only reports by this account.")
@click.option("--about", metavar="NAME", help="Only reports about this account.")
@click.option("--limit", type=click.IntRange(1, MOST_LISTED), default=100, show_default=True, help="At most this many.")
@json_option
@setting_options("data", "domain")
def list_(
    resolved: bool,
    by: str | None,
    about: str | None,
    limit: int,
    as_json: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """List the open reports, the newest first."""
    from .handling import WantedReports, list_reports

    found = _run(list_reports, (WantedReports(resolved, by, about, limit),), data, config, domain, named=True)
    print_list(found, _line, as_json=as_json)


@reports.command
@_id
@json_option
@setting_options("data")
def show(report_id: int, as_json: bool, data: str | None, config: Path | None) -> None:
    """Show the report ID with its posts, also deleted ones, and its notes."""
    from .handling import show_report

    found = _run(show_report, (report_id,), data, config)
    if as_json:
        print_json(found)
        return
    click.echo(_line(found))
    click.echo(found["comment"])
    for post in found["posts"]:
        state = "  deleted" if post["deleted"] else ""
        click.echo(f"post {post['id']}{state}  {' '.join((post['warning'] + ' ' + post['text']).split())}")
    for note in found["notes"]:
        click.echo(f"note of {note['by']}, {note['created_at']}: {note['content']}")


@reports.command
@_id
@json_option
@setting_options("data")
def resolve(report_id: int, as_json: bool, data: str | None, config: Path | None) -> None:
    """Resolve the report ID."""
    from .handling import resolve_report

    _handle(resolve_report, report_id, (), data, config, "Resolved", as_json)


@reports.command
@_id
@json_option
@setting_options("data")
def reopen(report_id: int, as_json: bool, data: str | None, config: Path | None) -> None:
    """Open the resolved report ID again."""
    from .handling import reopen_report

    _handle(reopen_report, report_id, (), data, config, "Reopened", as_json)


@reports.command
@_id
@click.argument("name", required=False)
@json_option
@setting_options("data", "domain")
def assign(
    report_id: int, name: str | None, as_json: bool, data: str | None, domain: str | None, config: Path | None
) -> None:
    """Assign the report ID to NAME, one of the staff. Without NAME it is assigned to no account."""
    from .handling import assign_report

    _run(assign_report, (report_id, name), data, config, domain, named=True)
    _tell("Assigned" if name else "Unassigned", report_id, data, config, as_json)


@reports.command
@_id
@click.argument("text")
@json_option
@setting_options("data")
def note(report_id: int, text: str, as_json: bool, data: str | None, config: Path | None) -> None:
    """Write the note TEXT on the report ID, for staff alone."""
    from .handling import add_note

    _handle(add_note, report_id, (text,), data, config, "Wrote a note on", as_json)


def _line(report: JsonObject) -> str:
    state = "resolved" if report["resolved"] else "open"
    to = f"  assigned to @{report['assigned_to']}" if report["assigned_to"] else ""
    comment = " ".join(report["comment"].split())[:LISTED_CHARACTERS]
    head = f"{report['id']}  {state}  {report['category']}  @{report['about']} by @{report['by']}{to}"
    return f"{head}  {comment}".rstrip()


def _handle(
    act: Callable[..., Awaitable[None]], id: int, more: tuple[str, ...], data: str | None, config: Path | None,
    done: str, as_json: bool,
) -> None:  # fmt: skip
    _run(act, (id, *more), data, config)
    _tell(done, id, data, config, as_json)


def _tell(done: str, id: int, data: str | None, config: Path | None, as_json: bool) -> None:
    """Say what was done, or print the report as it is now."""
    from .handling import show_report

    if as_json:
        print_json(_run(show_report, (id,), data, config))
    else:
        click.echo(f"{done} report {id}")


def _run(
    work: Callable[..., Awaitable[Outcome]], values: tuple[object, ...], data: str | None, config: Path | None,
    domain: str | None = None, *, named: bool = False,
) -> Outcome:  # fmt: skip
    """Return the outcome of a transaction. With `named` it takes names of accounts, and so the server's own name."""
    from ..domain import base_url
    from .handling import InvalidReport
    from .rows import transact

    settings = settings_from(config, data=data, domain=domain) if named else settings_from(config, data=data)
    more = (urlsplit(base_url(settings)).netloc,) if named else ()
    try:
        return transact(settings, work, *values, *more)
    except InvalidReport as unfit:
        raise CommandRefused(f"{unfit}.") from None

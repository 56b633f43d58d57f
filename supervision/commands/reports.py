"""`troupe reports`: reports of users, and the decisions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...storage import accounts
from ...storage.engine.json_values import JsonObject
from ...storage.upkeep.paging import Page
from .chosen_server import ChosenServer
from .names import find_account
from .options import json_option, print_json, print_list, setting_options
from .refusals import CommandRefused, require

if TYPE_CHECKING:
    from ...actors.kernel.errors import Refused
    from ...storage.engine.database import Connection
    from ...storage.reports import Report
    from .rows import Here

MOST_LISTED = 1000
MOST_NOTES = 1000
LISTED_CHARACTERS = 60

_id = click.argument("report_id", metavar="ID", type=int)


@click.group
def reports() -> None:
    """Reports of users."""


@reports.command("list")
@click.option("--resolved", is_flag=True, help="List the resolved reports instead of the open reports.")
@click.option("--by", metavar="NAME", help="Only reports by this account.")
@click.option("--about", metavar="NAME", help="Only reports about this account.")
@click.option("--limit", type=click.IntRange(1, MOST_LISTED), default=100, show_default=True, help="At most this many.")
@json_option
@setting_options("data", "domain")
def list_(server: ChosenServer, resolved: bool, by: str | None, about: str | None, limit: int, as_json: bool) -> None:
    """List the open reports, the newest first."""
    print_list(server.transact(_found, resolved, by, about, limit), _line, as_json=as_json)


async def _found(
    db: Connection, here: Here, resolved: bool, by: str | None, about: str | None, limit: int
) -> list[JsonObject]:
    """Return reports, newest first, as JSON. `by` and `about` are names of accounts."""
    from ...storage import reports
    from ...storage.reports import ReportFilter

    ids = [None if name is None else (await find_account(db, here, name)).id for name in (by, about)]
    found = await reports.page(db, ReportFilter(resolved, *ids), Page(limit))
    names = await _names(db, found)
    return [_fields(report, names) for report in found]


def _line(report: JsonObject) -> str:
    state = "resolved" if report["resolved"] else "open"
    to = f"  assigned to @{report['assigned_to']}" if report["assigned_to"] else ""
    comment = " ".join(report["comment"].split())[:LISTED_CHARACTERS]
    head = f"{report['id']}  {state}  {report['category']}  @{report['about']} by @{report['by']}{to}"
    return f"{head}  {comment}".rstrip()


@reports.command
@_id
@json_option
@setting_options("data")
def show(server: ChosenServer, report_id: int, as_json: bool) -> None:
    """Show the report ID with its posts, also deleted posts, and its notes."""
    found = server.transact(_shown, report_id)
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


async def _shown(db: Connection, here: Here, id: int) -> JsonObject:
    """Return a report with its posts and notes, as JSON."""
    from ...actors.rules.markup import plain
    from ...storage import reports, statuses

    report = await reports.find(db, id)
    if report is None:
        raise CommandRefused(f"there is no report {id}.")
    notes = await reports.notes(db, id, MOST_NOTES)
    posts = await statuses.find_stored(db, report.status_ids)
    kept = await statuses.find_many(db, report.status_ids)
    authors = await accounts.find_many(db, [note.account_id for note in notes if note.account_id is not None])
    return _fields(report, await _names(db, [report])) | {
        "rules": [str(rule) for rule in report.rule_ids or ()],
        "posts": [
            {
                "id": str(post.id),
                "url": post.url or post.uri,
                "warning": post.spoiler_text,
                "text": plain(post.content),
                "deleted": post.id not in kept,
            }
            for post in posts.values()
        ],
        "notes": [
            {
                "by": authors[note.account_id].acct if note.account_id in authors else "command line",
                "created_at": note.created_at.isoformat(),
                "content": note.content,
            }
            for note in notes
        ],
    }


async def _names(db: Connection, found: Sequence[Report]) -> dict[int, str]:
    """Return the names of all accounts that reports name."""
    ids = {
        id
        for report in found
        for id in (
            report.account_id,
            report.target_account_id,
            report.assigned_account_id,
            report.action_taken_by_account_id,
        )
        if id
    }
    return {id: account.acct for id, account in (await accounts.find_many(db, list(ids))).items()}


def _fields(report: Report, names: dict[int, str]) -> JsonObject:
    return {
        "id": str(report.id),
        "about": names.get(report.target_account_id),
        "by": names.get(report.account_id),
        "category": report.category,
        "comment": report.comment,
        "post_ids": [str(id) for id in report.status_ids],
        "assigned_to": names.get(report.assigned_account_id or 0),
        "resolved": report.action_taken_at is not None,
        "resolved_by": names.get(report.action_taken_by_account_id or 0),
        "created_at": report.created_at.isoformat(),
    }


@reports.command
@_id
@json_option
@setting_options("data")
def resolve(server: ChosenServer, report_id: int, as_json: bool) -> None:
    """Resolve the report ID."""
    server.transact(_resolve, report_id)
    _tell(server, "Resolved", report_id, as_json)


async def _resolve(db: Connection, here: Here, id: int) -> None:
    from ...actors.commands.report_handling import ResolveReport, resolve

    _require(id, await resolve(here.act, ResolveReport(here.staff, id)))


@reports.command
@_id
@json_option
@setting_options("data")
def reopen(server: ChosenServer, report_id: int, as_json: bool) -> None:
    """Open the resolved report ID again."""
    server.transact(_reopen, report_id)
    _tell(server, "Reopened", report_id, as_json)


async def _reopen(db: Connection, here: Here, id: int) -> None:
    from ...actors.commands.report_handling import ReopenReport, reopen

    _require(id, await reopen(here.act, ReopenReport(here.staff, id)))


@reports.command
@_id
@click.argument("name", required=False)
@json_option
@setting_options("data", "domain")
def assign(server: ChosenServer, report_id: int, name: str | None, as_json: bool) -> None:
    """Assign the report ID to NAME, a member of staff. Without NAME it is assigned to no account."""
    server.transact(_assign, report_id, name)
    _tell(server, "Assigned" if name else "Unassigned", report_id, as_json)


async def _assign(db: Connection, here: Here, id: int, name: str | None) -> None:
    """Assign a report to a member of staff, or without a name to no account."""
    from ...actors.commands.report_handling import AssignReport, assign

    to = None if name is None else (await find_account(db, here, name)).id
    _require(id, await assign(here.act, AssignReport(here.staff, id, to)))


@reports.command
@_id
@click.argument("text")
@json_option
@setting_options("data")
def note(server: ChosenServer, report_id: int, text: str, as_json: bool) -> None:
    """Write the note TEXT on the report ID, for staff alone."""
    server.transact(_add_note, report_id, text)
    _tell(server, "Wrote a note on", report_id, as_json)


async def _add_note(db: Connection, here: Here, id: int, content: str) -> None:
    from ...actors.commands.report_handling import NoteReport, add_note

    _require(id, await add_note(here.act, NoteReport(here.staff, id, content)))


def _tell(server: ChosenServer, done: str, id: int, as_json: bool) -> None:
    """Print a confirmation, or the report as it is now."""
    if as_json:
        print_json(server.transact(_shown, id))
    else:
        click.echo(f"{done} report {id}")


def _require(id: int, outcome: Report | Refused) -> None:
    """Raise CommandRefused if the act on a report was refused."""
    from ...actors.refusals import NOT_FOUND

    if outcome == NOT_FOUND:
        raise CommandRefused(f"there is no report {id}.")
    require(outcome)

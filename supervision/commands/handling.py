"""Reading and handling reports directly in the rows, for the commands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...actors.commands import report_handling
from ...actors.kernel import Refused
from ...actors.kernel.ids import Ids
from ...actors.rules.markup import plain
from ...actors.staff import act_at_command_line
from ...storage import accounts, reports, statuses
from ...storage.engine.database import Connection
from ...storage.paging import Page
from ...storage.reports import Report, ReportFilter
from .finding import InvalidAccount, find_account

MOST_NOTES = 1000


class InvalidReport(Exception):
    """Raised when a report can't be found or handled. The text says why."""


@dataclass(frozen=True, slots=True)
class WantedReports:
    """The reports to list. `by` and `about` are names of accounts."""

    resolved: bool
    by: str | None
    about: str | None
    limit: int


async def list_reports(
    db: Connection, wanted: WantedReports, local_domain: str, ids: Ids, now: datetime
) -> list[dict[str, object]]:
    """Return reports, newest first, as JSON."""
    by, about = [
        None if name is None else (await _account(db, name, local_domain)) for name in (wanted.by, wanted.about)
    ]
    found = await reports.page(db, ReportFilter(wanted.resolved, by, about), Page(wanted.limit))
    names = await _names(db, found)
    return [_fields(one, names) for one in found]


async def show_report(db: Connection, id: int, ids: Ids, now: datetime) -> dict[str, object]:
    """Return a report with its posts and notes, as JSON."""
    report = await reports.find(db, id)
    if report is None:
        raise InvalidReport(f"there is no report {id}")
    notes = await reports.notes(db, id, MOST_NOTES)
    posts = await statuses.find_stored(db, report.status_ids)
    kept = await statuses.find_many(db, report.status_ids)
    authors = await accounts.find_many(db, [one.account_id for one in notes if one.account_id is not None])
    return _fields(report, await _names(db, [report])) | {
        "rules": [str(rule) for rule in report.rule_ids or ()],
        "posts": [
            {
                "id": str(one.id),
                "url": one.url or one.uri,
                "warning": one.spoiler_text,
                "text": plain(one.content),
                "deleted": one.id not in kept,
            }
            for one in posts.values()
        ],
        "notes": [
            {
                "by": authors[one.account_id].acct if one.account_id in authors else "command line",
                "created_at": one.created_at.isoformat(),
                "content": one.content,
            }
            for one in notes
        ],
    }


async def resolve_report(db: Connection, id: int, ids: Ids, now: datetime) -> None:
    await _done(db, id, await report_handling.resolve(db, act_at_command_line(ids, now), id))


async def reopen_report(db: Connection, id: int, ids: Ids, now: datetime) -> None:
    await _done(db, id, await report_handling.reopen(db, act_at_command_line(ids, now), id))


async def assign_report(db: Connection, id: int, name: str | None, local_domain: str, ids: Ids, now: datetime) -> None:
    """Assign a report to one of the staff, or without a name to no account."""
    to = None if name is None else await _account(db, name, local_domain)
    await _done(db, id, await report_handling.assign(db, act_at_command_line(ids, now), id, to))


async def add_note(db: Connection, id: int, content: str, ids: Ids, now: datetime) -> None:
    await _done(db, id, await report_handling.add_note(db, act_at_command_line(ids, now), id, content))


async def _done(db: Connection, id: int, outcome: Report | Refused) -> None:
    if isinstance(outcome, Refused):
        missing = outcome == report_handling.NOT_FOUND
        text = outcome.text.removeprefix("Validation failed: ")
        raise InvalidReport(f"there is no report {id}" if missing else text)


async def _account(db: Connection, name: str, local_domain: str) -> int:
    try:
        return (await find_account(db, name, local_domain)).id
    except InvalidAccount as unfit:
        raise InvalidReport(str(unfit)) from None


async def _names(db: Connection, found: list[Report]) -> dict[int, str]:
    """Return the names of all accounts that reports name."""
    ids = {
        id
        for one in found
        for id in (one.account_id, one.target_account_id, one.assigned_account_id, one.action_taken_by_account_id)
        if id
    }
    return {id: account.acct for id, account in (await accounts.find_many(db, list(ids))).items()}


def _fields(report: Report, names: dict[int, str]) -> dict[str, object]:
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

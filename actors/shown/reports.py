"""Reports as they are shown: with the account that they are about, for staff also with their statuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...storage import reports, statuses
from ...storage.accounts import Account
from ...storage.engine.database import Database
from ...storage.reports import Report
from .statuses import AccountCache, ShownStatus, StatusCache


@dataclass(frozen=True, slots=True)
class ShownReport:
    """A report with the records that its JSON needs."""

    report: Report
    target: Account


async def find_reports(database: Database, cache: AccountCache, ids: Sequence[int]) -> dict[int, ShownReport]:
    """Return reports by id."""
    found = await database.read(reports.find_many, ids) if ids else {}
    targets = await cache.find_many(row.target_account_id for row in found.values())
    return {
        id: ShownReport(row, targets[row.target_account_id])
        for id, row in found.items()
        if row.target_account_id in targets
    }


async def reported_statuses(database: Database, cache: StatusCache, ids: Iterable[int]) -> dict[int, ShownStatus]:
    """Return reported statuses by id for staff, also deleted statuses that are not erased yet."""
    rows = await database.read(statuses.find_stored, list(dict.fromkeys(ids)))
    boosted = {row.reblog_of_id for row in rows.values() if row.reblog_of_id is not None} - rows.keys()
    if boosted:
        rows |= await database.read(statuses.find_stored, list(boosted))
    return await cache.show_rows(rows)

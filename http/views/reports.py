"""Rendering of reports for staff, and the check of the rules in reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from ...actors.shown.reports import reported_statuses
from ...storage.reports import Report
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.errors import invalid
from ..entities.report import admin_report_fields
from .admin_accounts import render_admin_accounts
from .statuses import render_all


async def check_rules(context: HttpContext, ids: Iterable[int]) -> None:
    """Raise 422 for ids that are not ids of this server's rules."""
    if not {rule.id for rule in (await context.operator_texts.current()).rules}.issuperset(ids):
        raise invalid("Rule ids does not reference valid rules")


async def render_reports(context: HttpContext, viewer: Viewer, reports: Sequence[Report]) -> list[bytes]:
    """Return reports for staff, with their statuses as they are stored. Deleted statuses are included."""
    named = (id for report in reports for id in _accounts_of(report) if id is not None)
    accounts = await render_admin_accounts(context, viewer, dict.fromkeys(named))
    ids = (id for report in reports for id in report.status_ids)
    shown = await reported_statuses(context.database, context.statuses, ids)
    statuses = dict(zip(shown, await render_all(context, viewer, list(shown.values())), strict=True))
    rules = {rule.id: rule for rule in (await context.operator_texts.current()).rules}
    return [
        orjson.dumps(
            admin_report_fields(
                report, accounts,
                [orjson.Fragment(statuses[id]) for id in report.status_ids if id in statuses],
                [rules[id] for id in report.rule_ids or () if id in rules],
            )
        )
        for report in reports
    ]  # fmt: skip


def _accounts_of(report: Report) -> tuple[int | None, ...]:
    return (
        report.account_id, report.target_account_id, report.assigned_account_id, report.action_taken_by_account_id
    )  # fmt: skip

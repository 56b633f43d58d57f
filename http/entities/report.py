"""Report, Admin::Report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orjson import Fragment

from ...actors.reports import ShownReport
from ...storage.policies import Rule
from ...storage.reports import Report
from .account import account_json
from .policy import rule_fields
from .rendered import Renderings
from .times import instant, maybe_instant


def report_fields(shown: ShownReport, renderings: Renderings, base_url: str) -> dict[str, object]:
    """Return a report without the account that made it."""
    report = shown.report
    return {
        **_shared_fields(report),
        "status_ids": [str(id) for id in report.status_ids],
        "rule_ids": None if report.rule_ids is None else [str(id) for id in report.rule_ids],
        "target_account": Fragment(account_json(shown.target, renderings, base_url)),
    }


def admin_report_fields(
    report: Report, accounts: Mapping[int, Mapping[str, object]], statuses: Sequence[Fragment], rules: Sequence[Rule]
) -> dict[str, object]:
    """Return a report for staff. `accounts` are rendered, by their ids."""
    return {
        **_shared_fields(report),
        "updated_at": instant(report.updated_at),
        "account": accounts[report.account_id],
        "target_account": accounts[report.target_account_id],
        "assigned_account": _maybe(report.assigned_account_id, accounts),
        "action_taken_by_account": _maybe(report.action_taken_by_account_id, accounts),
        "statuses": statuses,
        "rules": [rule_fields(rule) for rule in rules],
    }


def _shared_fields(report: Report) -> dict[str, object]:
    """Return what its author and staff see alike."""
    return {
        "id": str(report.id),
        "action_taken": report.action_taken_at is not None,
        "action_taken_at": maybe_instant(report.action_taken_at),
        "category": report.category,
        "comment": report.comment,
        "forwarded": report.forwarded,
        "created_at": instant(report.created_at),
    }


def _maybe(id: int | None, accounts: Mapping[int, Mapping[str, object]]) -> Mapping[str, object] | None:
    return None if id is None else accounts.get(id)

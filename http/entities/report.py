"""Report, Admin::Report; AccountWarning, which the API also calls a strike, and its Appeal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from ...actors.shown.reports import ShownReport
from ...storage.accounts import Account
from ...storage.operator_texts import Rule
from ...storage.reports import Report
from ...storage.strikes import Strike
from .account import account_json
from .instance import rule_fields
from .rendered import Renderings
from .times import instant, maybe_instant


def report_fields(shown: ShownReport, renderings: Renderings, base_url: str) -> dict[str, object]:
    """Return a report without the account that made it."""
    report = shown.report
    return {
        **_shared_fields(report),
        "status_ids": [str(id) for id in report.status_ids],
        "rule_ids": None if report.rule_ids is None else [str(id) for id in report.rule_ids],
        "target_account": orjson.Fragment(account_json(shown.target, renderings, base_url)),
    }


def admin_report_fields(
    report: Report,
    accounts: Mapping[int, Mapping[str, object]],
    statuses: Sequence[orjson.Fragment],
    rules: Sequence[Rule],
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
    """Return the fields for both the report's author and staff."""
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


def warning_json(strike: Strike, target: Account, renderings: Renderings, base_url: str) -> bytes:
    """Return a strike for its target account."""
    fields = {
        "id": str(strike.id),
        "action": strike.action,
        "text": strike.text,
        "status_ids": None if strike.status_ids is None else [str(id) for id in strike.status_ids],
        "appeal": None if strike.appeal_id is None else {"text": strike.appeal_text, "state": state_of(strike)},
        "created_at": instant(strike.created_at),
        "target_account": orjson.Fragment(account_json(target, renderings, base_url)),
    }
    return orjson.dumps(fields)


def appeal_json(strike: Strike, target: Account, renderings: Renderings, base_url: str) -> bytes:
    """Return an appeal for staff, with the strike that it is against. This entity is Troupe's own."""
    fields = {
        "id": str(strike.appeal_id),
        "text": strike.appeal_text,
        "state": state_of(strike),
        "created_at": None if strike.appealed_at is None else instant(strike.appealed_at),
        "strike": orjson.Fragment(warning_json(strike, target, renderings, base_url)),
    }
    return orjson.dumps(fields)


def state_of(strike: Strike) -> str:
    """Return the state of the appeal against a strike."""
    if strike.appeal_approved_at is not None:
        return "approved"
    return "pending" if strike.appeal_rejected_at is None else "rejected"

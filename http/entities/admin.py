"""Admin::Account and Admin::Ip; Admin::Measure, Admin::Dimension and Admin::Cohort; Admin::AuditEntry.

Admin::AuditEntry is an entity of this server alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import orjson

from ...storage.accounts import Account
from ...storage.admin_accounts import AdminUser
from ...storage.audit_log import AuditEntry
from .account import account_json, role_fields
from .rendered import Renderings
from .times import instant

# Accounts of other servers have no user.
WITHOUT_USER: dict[str, object] = {
    "locale": None,
    "invite_request": None,
    "role": None,
    "confirmed": None,
    "approved": None,
    "disabled": None,
}


def admin_account_fields(
    account: Account, user: AdminUser | None, renderings: Renderings, base_url: str, *, private: bool
) -> dict[str, object]:
    """Return an account for staff. Without `private` the e-mail address and the network addresses are left out."""
    return {
        "id": str(account.id),
        "username": account.username,
        "domain": account.domain,
        "created_at": instant(account.created_at),
        "sensitized": account.sensitized_at is not None,
        "silenced": account.silenced_at is not None,
        "suspended": account.suspended_at is not None,
        "account": orjson.Fragment(account_json(account, renderings, base_url)),
        **_user_fields(user),
        **_private_fields(user if private else None),
    }


def _user_fields(user: AdminUser | None) -> dict[str, object]:
    """Return the fields that are null for an account of another server."""
    if user is None:
        return WITHOUT_USER
    fields: dict[str, object] = {
        "locale": user.locale,
        "invite_request": user.invite_request,
        "role": role_fields(user.role),
        "confirmed": user.confirmed_at is not None,
        "approved": user.approved_at is not None,
        "disabled": user.disabled_at is not None,
    }
    if user.created_by_application_id is not None:
        fields["created_by_application_id"] = str(user.created_by_application_id)
    if user.invited_by_account_id is not None:
        fields["invited_by_account_id"] = str(user.invited_by_account_id)
    return fields


def _private_fields(user: AdminUser | None) -> dict[str, object]:
    if user is None:
        return {"email": None, "ip": None, "ips": []}
    used = user.addresses
    return {
        "email": user.email,
        "ip": used[0].ip if used else None,
        "ips": [{"ip": visit.ip, "used_at": instant(visit.used_at)} for visit in used],
    }


def audit_entry_fields(entry: AuditEntry) -> dict[str, object]:
    """Return an action of staff. An actor without an id is the command line."""
    return {
        "id": str(entry.id),
        "created_at": instant(entry.created_at),
        "actor": {"id": _maybe_id(entry.actor_id), "name": entry.actor},
        "action": entry.action,
        "target": {"type": entry.target_type, "id": _maybe_id(entry.target_id), "name": entry.target},
        "reason": entry.reason,
        "details": entry.details,
    }


def _maybe_id(id: int | None) -> str | None:
    return None if id is None else str(id)


def measure_fields(
    key: str, days: Sequence[datetime], numbers: Sequence[int], total: int, previous: int, unit: str | None
) -> dict[str, object]:
    """Return a measure: its number on each day, its total, and the total of as many days before."""
    return {
        "key": key,
        "unit": unit,
        "total": str(total),
        "previous_total": str(previous),
        "data": [{"date": instant(day), "value": str(number)} for day, number in zip(days, numbers, strict=True)],
    }


def dimension_fields(key: str, data: Sequence[tuple[str, str, str]], unit: str | None = None) -> dict[str, object]:
    """Return a dimension. Each entry of `data` has a key, a name for people, and a value."""
    more = {} if unit is None else {"unit": unit}
    return {"key": key, "data": [{"key": part, "human_key": name, "value": value} | more for part, name, value in data]}


def cohort_fields(
    begins: datetime, frequency: str, periods: Sequence[datetime], active: Sequence[int], size: int
) -> dict[str, object]:
    """Return a cohort: the users who signed up in a period, and how many were active in it and in later periods."""
    return {
        "period": instant(begins),
        "frequency": frequency,
        "data": [
            {"date": instant(date), "rate": number / size if size else 0.0, "value": str(number)}
            for date, number in zip(periods, active, strict=True)
        ],
    }

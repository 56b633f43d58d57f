"""Accounts and acts of staff as the commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...actors.kernel.ids import Ids, first_id_at
from ...storage import accounts, admin_accounts, audit_log
from ...storage.accounts import Account
from ...storage.admin_accounts import AccountFilter, AdminUser
from ...storage.audit_log import AuditFilter
from ...storage.engine.database import Connection
from ...storage.paging import Page
from .finding import find_account

# One row of a list, as JSON.
Described = dict[str, str | int | list[str] | None]


async def list_accounts(db: Connection, wanted: AccountFilter, limit: int, ids: Ids, now: datetime) -> list[Described]:
    """Return accounts by a filter, newest first, as JSON."""
    return await _described(db, await admin_accounts.page(db, wanted, Page(limit)))


async def show_account(db: Connection, handle: str, local_domain: str, ids: Ids, now: datetime) -> Described:
    """Return one account, as JSON. Raises InvalidAccount."""
    found = await find_account(db, handle, local_domain)
    return (await _described(db, [found.id]))[0]


async def list_acts(
    db: Connection, account: str | None, since: datetime | None, limit: int, ids: Ids, now: datetime
) -> list[dict[str, object]]:
    """Return acts of staff, newest first, as JSON: those that an account did, or that were done to it, or all."""
    page = Page(limit, since_id=None if since is None else first_id_at(since) - 1)
    return [
        {
            "id": str(entry.id),
            "created_at": entry.created_at.isoformat(),
            "actor": entry.actor,
            "action": entry.action,
            "target_type": entry.target_type,
            "target": entry.target,
            "reason": entry.reason,
            "details": entry.details,
        }
        for entry in await audit_log.page(db, AuditFilter(account=account), page)
    ]


async def _described(db: Connection, ids: Sequence[int]) -> list[Described]:
    found = await accounts.find_many(db, ids)
    owners = await admin_accounts.find_users(db, ids)
    return [_as_json(found[id], owners.get(id)) for id in ids if id in found]


def _as_json(account: Account, user: AdminUser | None) -> Described:
    fields: Described = {
        "id": str(account.id),
        "account": account.acct,
        "states": _states(account, user),
        "created_at": account.created_at.isoformat(),
        "last_status_at": None if account.last_status_at is None else account.last_status_at.isoformat(),
        "statuses": account.statuses_count,
        "followers": account.followers_count,
    }
    if user is not None:
        fields |= {
            "email": user.email,
            "role": user.role,
            "ip": user.addresses[0].ip if user.addresses else None,
            "ips": [f"{one.ip} {one.used_at.isoformat()}" for one in user.addresses],
            "locale": user.locale,
            "invite_request": user.invite_request,
        }
    return fields


def _states(account: Account, user: AdminUser | None) -> list[str]:
    states = {
        "unconfirmed": user is not None and user.confirmed_at is None,
        "unapproved": user is not None and user.approved_at is None,
        "disabled": user is not None and user.disabled_at is not None,
        "silenced": account.silenced_at is not None,
        "sensitized": account.sensitized_at is not None,
        "suspended": account.suspended_at is not None,
    }
    return [state for state, holds in states.items() if holds]

"""Admin::Account, Admin::Ip."""

from __future__ import annotations

import orjson

from ...storage.accounts import Account
from ...storage.admin_accounts import AdminUser
from .account import account_json
from .rendered import Renderings
from .role import role_fields
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
    """Return what an account of another server has as null."""
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
        "ips": [{"ip": one.ip, "used_at": instant(one.used_at)} for one in used],
    }

"""Accounts as staff see them. E-mail and network addresses require the scope and the role to read accounts."""

from __future__ import annotations

from collections.abc import Iterable

from ...actors.rules import scopes
from ...actors.rules.roles import Permission, may
from ...storage import admin_accounts
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.errors import NotFound
from ..entities.admin import admin_account_fields

READ_ACCOUNTS = ("admin:read:accounts",)


async def render_admin_accounts(
    context: HttpContext, viewer: Viewer, ids: Iterable[int]
) -> dict[int, dict[str, object]]:
    """Return accounts by their ids, in the order of the ids. Deleted accounts are included: reports name them."""
    found = await context.accounts.find_many(ids)
    users = await context.database.read(admin_accounts.find_users, list(found))
    base_url, private = context.settings.base_url, sees_addresses(viewer)
    return {
        id: admin_account_fields(account, users.get(id), context.rendered, base_url, private=private)
        for id, account in found.items()
    }


async def render_admin_account(context: HttpContext, viewer: Viewer, id: int) -> dict[str, object]:
    """Return an account that is not deleted. Raises NotFound."""
    account = await context.accounts.find(id)
    if account is None or account.deleted_at is not None:
        raise NotFound
    return (await render_admin_accounts(context, viewer, [id]))[id]


def sees_addresses(viewer: Viewer) -> bool:
    """True if the viewer may read e-mail addresses and network addresses of users."""
    return may(viewer.token.role, Permission.MANAGE_USERS) and scopes.granted(viewer.token.scopes, READ_ACCOUNTS)

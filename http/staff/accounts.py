"""The page that finds accounts: by the filters that the API has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...actors.rules.roles import ROLES, Permission, rank
from ...storage import admin_accounts
from ...storage.accounts import Account
from ...storage.admin_accounts import AdminUser
from ..access.context import HttpContext
from ..admin.accounts import STATUSES, AdminAccountsQuery
from ..entities.account import avatar_url
from ..views.titles import name_of
from .member import StaffMember
from .staff_page import Done, Facts, StaffPage, listed

HERE = ""  # pictures are named without the server
STATUS_WORDS = {
    "active": "Active",
    "pending": "Waiting for approval",
    "disabled": "Disabled",
    "silenced": "Limited",
    "suspended": "Suspended",
    "sensitized": "All media sensitive",
}
ACCOUNTS = StaffPage(
    "/admin/accounts",
    Permission.MANAGE_USERS,
    {"rejected": "The sign-up was rejected, and its account deleted.", "deleted": "The account was deleted."},
)


class AccountQuery(AdminAccountsQuery, Done):
    """The filters of the second version of the API."""


@dataclass(frozen=True, slots=True)
class AccountLine:
    """An account in a list or at the top of its page."""

    id: int
    acct: str
    name: str
    avatar: str
    account: Account
    user: AdminUser | None
    states: list[str]


@ACCOUNTS.get("accounts.html")
async def show(me: StaffMember, sought: AccountQuery) -> Facts:
    """Show accounts by filters, the newest first."""
    filters = sought.wanted(me.context.settings.local_domain)
    ids, links = await listed(me, sought, admin_accounts.page, filters, id_of=int)
    return {
        "sought": sought,
        "statuses": [("", "Any"), *((one, STATUS_WORDS[one]) for one in STATUSES)],
        "roles": [("", "Any"), *((str(rank(role)), role.capitalize()) for role in ROLES)],
        "lines": await lines_of(me.context, ids),
        "page_links": links,
    }


async def lines_of(context: HttpContext, ids: Sequence[int]) -> list[AccountLine]:
    """Return accounts in the order of their ids."""
    found = await context.accounts.find_many(ids)
    users = await context.database.read(admin_accounts.find_users, list(found))
    return [line_of(found[id], users.get(id)) for id in ids if id in found]


def line_of(account: Account, user: AdminUser | None) -> AccountLine:
    """Return an account as pages for staff show it."""
    states = {
        "deleted": account.deleted_at,
        "suspended": account.suspended_at,
        "limited": account.silenced_at,
        "media sensitive": account.sensitized_at,
        "disabled": user and user.disabled_at,
    }
    waiting = [] if user is None or user.approved_at else ["waits for approval"]
    unconfirmed = [] if user is None or user.confirmed_at else ["address not confirmed"]
    return AccountLine(
        account.id, account.acct, name_of(account), avatar_url(account, HERE), account, user,
        [*(state for state, since in states.items() if since), *waiting, *unconfirmed],
    )  # fmt: skip

"""Accounts for staff: listed by filters, shown, approved, rejected and deleted, and the end of their states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ...actors.broadcast.broadcast import account_address
from ...actors.commands.accounts import ApproveSignUp, DeleteSuspendedNow, RejectSignUp
from ...actors.commands.moderation import UndoModeration
from ...actors.rules.domains import sought_addresses
from ...actors.rules.identity import pasted_domain
from ...actors.rules.roles import ROLES, Permission, rank
from ...storage import admin_accounts
from ...storage.admin_accounts import AccountFilter, Status
from ...storage.moderation import State
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..intake.paging import Paged
from ..intake.parameters import AccountId, Choice, Flag, MaybeText, MaybeTexts
from ..intake.request import Request
from ..router import api
from ..views.admin_accounts import READ_ACCOUNTS, render_admin_account, render_admin_accounts
from ..views.staff import listed, staff_of

WRITE_ACCOUNTS = ("admin:write:accounts",)
UNKNOWN_DOMAIN = "."  # a domain that no account has
STATUSES: tuple[Status, ...] = ("active", "pending", "disabled", "silenced", "suspended", "sensitized")


def _network(text: str | None) -> str | None:
    """Return an address or a network in PostgreSQL's format. Raises 422."""
    if not text:
        return None
    try:
        return str(ip_network(text.strip(), strict=False))
    except ValueError:
        raise PydanticCustomError("invalid", "is invalid") from None


class AccountsFilter(Paged):
    """The filters that both versions of the list share.

    Names and e-mail addresses match by their beginning, addresses also by their domain. A handle means a name and a
    domain.
    """

    username: MaybeText = None
    display_name: MaybeText = None
    by_domain: MaybeText = None
    email: MaybeText = None
    ip: Annotated[MaybeText, AfterValidator(_network)] = None

    def texts(self, here: str, local: bool | None) -> AccountFilter:
        """Return the filter for local accounts (`local`), remote accounts, or all (None). `here` is the local domain.

        Empty texts are ignored.
        """
        username, _, host = (self.username or "").strip().removeprefix("@").partition("@")
        written = (host or self.by_domain or "").lower()
        domain = pasted_domain(written) or UNKNOWN_DOMAIN if written else None
        is_here = here in (domain, written) and local is not False
        email, email_domain = sought_addresses(self.email or "")
        return AccountFilter(
            local=True if is_here else local,
            username=username or None,
            display_name=self.display_name or None,
            domain=None if is_here else domain,
            email=email,
            email_domain=email_domain,
            network=self.ip,
        )


class FlaggedAccounts(AccountsFilter):
    """The filters of version 1, where each state is a parameter. An account must be in all given states."""

    local: Flag = False
    remote: Flag = False
    active: Flag = False
    pending: Flag = False
    disabled: Flag = False
    silenced: Flag = False
    suspended: Flag = False
    sensitized: Flag = False
    staff: Flag = False

    def wanted(self, here: str) -> AccountFilter:
        return replace(
            self.texts(here, None if self.local == self.remote else self.local),
            statuses=frozenset(status for status in STATUSES if getattr(self, status)),
            staff=self.staff,
        )


class AdminAccountsQuery(AccountsFilter):
    """The filters of version 2."""

    origin: Annotated[Literal["local", "remote"] | None, Choice] = None
    status: Annotated[Status | None, Choice] = None
    permissions: Annotated[Literal["staff"] | None, Choice] = None
    role_ids: MaybeTexts = None
    invited_by: AccountId = None

    def wanted(self, here: str) -> AccountFilter:
        return replace(
            self.texts(here, None if self.origin is None else self.origin == "local"),
            statuses=frozenset([self.status] if self.status else ()),
            staff=self.permissions == "staff",
            roles=_roles(self.role_ids) if self.role_ids else None,
            invited_by=self.invited_by,
        )


@api.get(
    "/api/v1/admin/accounts",
    auth="user",
    scopes=READ_ACCOUNTS,
    permission=Permission.MANAGE_USERS,
    returns="[Admin.Account]",
)
async def show_flagged(context: HttpContext, request: Request, viewer: Viewer, sought: FlaggedAccounts) -> Answer:
    """Accounts by filters, the newest first."""
    return await _answer(context, request, viewer, sought, sought.wanted(context.settings.local_domain))


@api.get(
    "/api/v2/admin/accounts",
    auth="user",
    scopes=READ_ACCOUNTS,
    permission=Permission.MANAGE_USERS,
    returns="[Admin.Account]",
)
async def show_sought(context: HttpContext, request: Request, viewer: Viewer, sought: AdminAccountsQuery) -> Answer:
    """Accounts by filters, the newest first."""
    return await _answer(context, request, viewer, sought, sought.wanted(context.settings.local_domain))


@api.get(
    "/api/v1/admin/accounts/<id>",
    auth="user",
    scopes=READ_ACCOUNTS,
    permission=Permission.MANAGE_USERS,
    returns="Admin.Account",
)
async def show(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """An account."""
    return json(await render_admin_account(context, viewer, id))


def _undo(command: str, state: State, sentence: str) -> None:
    """Declare the endpoint that ends a state of an account."""

    @api.post(
        f"/api/v1/admin/accounts/<id>/{command}",
        auth="user",
        scopes=WRITE_ACCOUNTS,
        permission=Permission.MANAGE_USERS,
        returns="Admin.Account",
    )
    async def undo(context: HttpContext, viewer: Viewer, id: int) -> Answer:
        await viewer.ask(UndoModeration(await staff_of(context, viewer), state), account_address(id))
        return json(await render_admin_account(context, viewer, id))

    undo.__doc__ = sentence


_undo("enable", "disable", "Let the user of an account sign in again.")
_undo("unsilence", "silence", "End the silence of an account.")
_undo("unsensitive", "sensitive", "Mark the media of an account no longer as sensitive.")
_undo("unsuspend", "suspend", "End the suspension of an account.")


@api.post(
    "/api/v1/admin/accounts/<id>/approve",
    auth="user",
    scopes=WRITE_ACCOUNTS,
    permission=Permission.MANAGE_USERS,
    returns="Admin.Account",
)
async def approve(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Approve a sign-up."""
    await viewer.ask(ApproveSignUp(await staff_of(context, viewer)), account_address(id))
    return json(await render_admin_account(context, viewer, id))


@api.post(
    "/api/v1/admin/accounts/<id>/reject",
    auth="user",
    scopes=WRITE_ACCOUNTS,
    permission=Permission.MANAGE_USERS,
    returns="Admin.Account",
)
async def reject(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Delete the account of a sign-up that is not approved. The answer is the account before its deletion."""
    shown = await render_admin_account(context, viewer, id)
    await viewer.ask(RejectSignUp(await staff_of(context, viewer)), account_address(id))
    return json(shown)


@api.delete(
    "/api/v1/admin/accounts/<id>",
    auth="user",
    scopes=WRITE_ACCOUNTS,
    permission=Permission.DELETE_USER_DATA,
    returns="Admin.Account",
)
async def delete(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    """Delete a suspended account at once. The answer is the account before its deletion."""
    shown = await render_admin_account(context, viewer, id)
    await viewer.ask(DeleteSuspendedNow(await staff_of(context, viewer)), account_address(id))
    return json(shown)


async def _answer(
    context: HttpContext, request: Request, viewer: Viewer, sought: AccountsFilter, wanted: AccountFilter
) -> Answer:
    ids, links = await listed(context, request, sought, admin_accounts.page, wanted, id_of=int)
    rendered = await render_admin_accounts(context, viewer, ids)
    return json(list(rendered.values()), headers=links)


def _roles(ids: Iterable[str]) -> frozenset[str]:
    """Return the roles with these ids, which are their ranks."""
    return frozenset(role for role in ROLES if str(rank(role)) in ids)

"""The pages of accounts: the list with the API's filters, and the page of an account with the forms for actions.

Actions are the commands of the API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ...actors.commands.accounts import ApproveSignUp, DeleteSuspendedNow, GiveRole, RejectSignUp
from ...actors.commands.moderation import UndoModeration
from ...actors.rules.roles import ROLES, Permission, outranks, rank
from ...storage import admin_accounts, audit_log, reports, strikes
from ...storage.accounts import Account
from ...storage.admin_accounts import AdminUser
from ...storage.audit_log import AuditFilter
from ...storage.moderation import State
from ...storage.reports import ReportFilter
from ...storage.upkeep.paging import Page
from ..access.context import HttpContext
from ..admin.accounts import STATUSES, AdminAccountsQuery
from ..admin.moderation import MOST_TEXT, ActionParameters, command_of
from ..answers.answer import Answer
from ..answers.errors import NotFound
from ..entities.account import avatar_url
from ..intake.parameters import Choice
from ..views.titles import name_of
from .member import DangerousForm, Question, StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage, led_back, listed

HERE = ""  # the URLs of pictures are relative
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
SHOWN = 20  # strikes, reports and acts
ACTS: tuple[tuple[str, str], ...] = (
    ("none", "Warn, and nothing else"),
    ("sensitive", "Mark all its media as sensitive"),
    ("disable", "Disable: the user can't sign in"),
    ("silence", "Limit: only followers see its posts"),
    ("suspend", "Suspend: hidden now, deleted after 30 days"),
)
STATUS_ACTS: tuple[tuple[str, str], ...] = (
    ("mark_statuses_as_sensitive", "Mark the chosen posts as sensitive"),
    ("delete_statuses", "Delete the chosen posts"),
)
# Actions that require the password again, with the warning on the page.
DESTROYS = {
    "suspend": "The account is hidden at once, its sessions end, and after 30 days it is deleted for good.",
    "delete_statuses": "The chosen posts are deleted with their media. Nothing brings them back.",
}
ACCOUNT = StaffPage(
    "/admin/accounts/<id>",
    Permission.MANAGE_USERS,
    {
        "acted": "Done. The audit log has it.",
        "undone": "That state is ended.",
        "approved": "The sign-up is approved. The user gets a mail.",
        "role": "The role was changed.",
    },
)


class AccountQuery(AdminAccountsQuery, Done):
    """The filters of version 2 of the API."""


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


class ActForm(DangerousForm, ActionParameters):
    """An action on an account, or on its posts."""


class UndoForm(StaffForm):
    state: Annotated[State, Choice]


class RoleForm(DangerousForm):
    role: Annotated[Literal["user", "moderator", "admin", "owner"], Choice]


@ACCOUNTS.get("accounts.html")
async def show(me: StaffMember, sought: AccountQuery) -> Facts:
    """Show accounts by filters, the newest first."""
    filters = sought.wanted(me.context.settings.local_domain)
    ids, links = await listed(me, sought, admin_accounts.page, filters, id_of=int)
    return {
        "sought": sought,
        "statuses": [("", "Any"), *((status, STATUS_WORDS[status]) for status in STATUSES)],
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
    """Return an account for pages of staff."""
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


@ACCOUNT.get("account.html")
async def show_one(me: StaffMember, id: int, after: Done) -> Facts:
    """Show an account."""
    context = me.context
    account = await context.accounts.find(id)
    if account is None or account.deleted_at is not None:
        raise NotFound
    user = (await context.database.read(admin_accounts.find_users, [id])).get(id)
    found = await context.database.read(strikes.of_account, id, SHOWN)
    about = [
        report
        for resolved in (False, True)
        for report in await context.database.read(reports.page, ReportFilter(resolved, None, id), Page(SHOWN))
    ]
    log = await _log(me, id)
    invited_by = None if user is None or user.invited_by_account_id is None else user.invited_by_account_id
    named = [strike.account_id for strike in found if strike.account_id] + ([invited_by] if invited_by else [])
    return {
        "line": line_of(account, user),
        "account": account,
        "account_user": user,
        "strikes": found,
        "names": await context.accounts.find_many(named),
        "reports": about,
        "entries": log,
        "acts": [(name, words) for name, words in ACTS if user is not None or name not in ("disable", "none")],
        "most_text": MOST_TEXT,
        "roles": [(role, role.capitalize()) for role in ROLES if outranks(me.user.role, role)],
        "below": outranks(me.user.role, None if user is None else user.role),
    }


@ACCOUNT.post("/act")
async def act(me: StaffMember, id: int, posted: ActForm) -> Answer:
    """Warn the user of an account, set a state of the account, or act on its posts."""
    report = posted.report_id
    back = f"/admin/accounts/{id}" if report is None else f"/admin/reports/{report}"
    if (warning := DESTROYS.get(posted.type)) is not None:
        words = dict(ACTS + STATUS_ACTS)[posted.type]
        await me.confirm(posted, Question(words, warning, "Do it", back), _repeated(posted))
    await me.ask(command_of(me.staff, posted), id)
    return led_back(back, "acted")


@ACCOUNT.post("/undo")
async def undo(me: StaffMember, id: int, posted: UndoForm) -> str:
    """End a state of an account."""
    await me.ask(UndoModeration(me.staff, posted.state), id)
    return "undone"


@ACCOUNT.post("/approve")
async def approve(me: StaffMember, id: int, posted: StaffForm) -> str:
    """Approve a sign-up."""
    await me.ask(ApproveSignUp(me.staff), id)
    return "approved"


@ACCOUNT.post("/reject")
async def reject(me: StaffMember, id: int, posted: DangerousForm) -> Answer:
    """Delete the account of a sign-up."""
    warning = "The account is deleted. Its name and its address are free again."
    await me.confirm(posted, Question("Reject this sign-up", warning, "Reject", f"/admin/accounts/{id}"))
    await me.ask(RejectSignUp(me.staff), id)
    return ACCOUNTS.after("rejected")


@ACCOUNT.post("/delete", permission=Permission.DELETE_USER_DATA)
async def delete(me: StaffMember, id: int, posted: DangerousForm) -> Answer:
    """Delete a suspended account at once."""
    warning = "All its posts, media, follows and messages are deleted. Nothing brings them back."
    question = Question("Delete this account for good", warning, "Delete for good", f"/admin/accounts/{id}")
    await me.confirm(posted, question)
    await me.ask(DeleteSuspendedNow(me.staff), id)
    return ACCOUNTS.after("deleted")


@ACCOUNT.post("/role", permission=Permission.MANAGE_ROLES)
async def give_role(me: StaffMember, id: int, posted: RoleForm) -> str:
    """Give a user another role."""
    warning = f"The user gets all that the role {posted.role} may do, and loses what it may not do."
    question = Question("Change the role of this user", warning, "Change the role", f"/admin/accounts/{id}")
    await me.confirm(posted, question, [("role", posted.role)])
    await me.ask(GiveRole(me.staff, posted.role), id)
    return "role"


def _repeated(posted: ActForm) -> list[tuple[str, str]]:
    """Return the fields of an action, which the form for the password repeats."""
    return [
        ("type", posted.type),
        ("text", posted.text),
        ("report_id", "" if posted.report_id is None else str(posted.report_id)),
        ("send_email_notification", "true" if posted.send_email_notification else "false"),
        *(("status_ids[]", str(status_id)) for status_id in posted.status_ids),
    ]


async def _log(me: StaffMember, id: int) -> list[audit_log.AuditEntry]:
    if not me.may(Permission.VIEW_AUDIT_LOG):
        return []
    wanted = AuditFilter(target_type="account", target_id=id)
    return await me.context.database.read(audit_log.page, wanted, Page(SHOWN))

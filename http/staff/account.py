"""The page of one account for staff, and what can be done to it: the same commands as those of the API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ...actors.commands.accounts import ApproveSignUp, DeleteSuspendedNow, GiveRole, RejectSignUp
from ...actors.commands.moderation import UndoModeration
from ...actors.kernel import Message
from ...actors.rules.roles import ROLES, Permission, outranks
from ...storage import admin_accounts, audit_log, reports, strikes
from ...storage.audit_log import AuditFilter
from ...storage.moderation import State
from ...storage.paging import Page
from ...storage.reports import ReportFilter
from ..access.context import HttpContext
from ..admin.moderation import MOST_TEXT, ActionParameters, command_of
from ..answers.answer import Answer, redirect
from ..answers.errors import NotFound
from ..intake.parameters import Choice
from ..intake.request import Request
from ..router import api
from .accounts import line_of
from .listing import Done, with_done, words_of
from .member import DangerousForm, Question, StaffForm, StaffMember, staff_member, staff_sender

PERMISSION = Permission.MANAGE_USERS
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
# What needs the password again, and what the page says of it.
DESTROYS = {
    "suspend": "The account is hidden at once, its sessions end, and after 30 days it is deleted for good.",
    "delete_statuses": "The chosen posts are deleted with their media. Nothing brings them back.",
}
DONE = {
    "acted": "Done. The audit log has it.",
    "undone": "That state is ended.",
    "approved": "The sign-up is approved. The user is told by mail.",
    "role": "The role was changed.",
}


class ActForm(DangerousForm, ActionParameters):
    """An act on an account, or on posts of it."""


class UndoForm(StaffForm):
    state: Annotated[State, Choice]


class RoleForm(DangerousForm):
    role: Annotated[Literal["user", "moderator", "admin", "owner"], Choice]


@api.get("/admin/accounts/<id>", page=True)
async def show(context: HttpContext, request: Request, id: int, after: Done) -> Answer:
    """Show one account."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, id, done=words_of(after, DONE))


@api.post("/admin/accounts/<id>/act", page=True)
async def act(context: HttpContext, request: Request, id: int, posted: ActForm) -> Answer:
    """Warn the user of an account, put it in a state, or act on posts of it."""
    me = await staff_sender(context, request, posted, PERMISSION)
    report = posted.report_id
    back = f"/admin/accounts/{id}" if report is None else f"/admin/reports/{report}"
    if (warning := DESTROYS.get(posted.type)) is not None:
        words = dict(ACTS + STATUS_ACTS)[posted.type]
        question = Question(words, warning, "Do it", back)
        if (asking := await me.confirmed(posted, question, _repeated(posted))) is not None:
            return asking
    problem = await me.attempt(command_of(me.staff, posted), id)
    return redirect(with_done(back, "acted")) if problem is None else await _page(me, id, problem=problem)


@api.post("/admin/accounts/<id>/undo", page=True)
async def undo(context: HttpContext, request: Request, id: int, posted: UndoForm) -> Answer:
    """Take an account out of a state."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, id, UndoModeration(me.staff, posted.state), f"/admin/accounts/{id}", "undone")


@api.post("/admin/accounts/<id>/approve", page=True)
async def approve(context: HttpContext, request: Request, id: int, posted: StaffForm) -> Answer:
    """Approve a sign-up."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, id, ApproveSignUp(me.staff), f"/admin/accounts/{id}", "approved")


@api.post("/admin/accounts/<id>/reject", page=True)
async def reject(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """Delete the account of a sign-up."""
    me = await staff_sender(context, request, posted, PERMISSION)
    warning = "The account is deleted. Its name and its address are free again."
    question = Question("Reject this sign-up", warning, "Reject", f"/admin/accounts/{id}")
    if (asking := await me.confirmed(posted, question)) is not None:
        return asking
    return await _done(me, id, RejectSignUp(me.staff), "/admin/accounts", "rejected")


@api.post("/admin/accounts/<id>/delete", page=True)
async def delete(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """Delete a suspended account at once."""
    me = await staff_sender(context, request, posted, Permission.DELETE_USER_DATA)
    warning = "All its posts, media, follows and messages are deleted. Nothing brings them back."
    question = Question("Delete this account for good", warning, "Delete for good", f"/admin/accounts/{id}")
    if (asking := await me.confirmed(posted, question)) is not None:
        return asking
    return await _done(me, id, DeleteSuspendedNow(me.staff), "/admin/accounts", "deleted")


@api.post("/admin/accounts/<id>/role", page=True)
async def give_role(context: HttpContext, request: Request, id: int, posted: RoleForm) -> Answer:
    """Give a user another role."""
    me = await staff_sender(context, request, posted, Permission.MANAGE_ROLES)
    warning = f"The user gets all that the role {posted.role} may do, and loses what it may not do."
    question = Question("Change the role of this user", warning, "Change the role", f"/admin/accounts/{id}")
    if (asking := await me.confirmed(posted, question, [("role", posted.role)])) is not None:
        return asking
    return await _done(me, id, GiveRole(me.staff, posted.role), f"/admin/accounts/{id}", "role")


async def _done(me: StaffMember, id: int, message: Message[None], target: str, done: str) -> Answer:
    problem = await me.attempt(message, id)
    return redirect(with_done(target, done)) if problem is None else await _page(me, id, problem=problem)


def _repeated(posted: ActForm) -> list[tuple[str, str]]:
    """The fields of an act, for the form that asks for the password."""
    return [
        ("type", posted.type),
        ("text", posted.text),
        ("report_id", "" if posted.report_id is None else str(posted.report_id)),
        ("send_email_notification", "true" if posted.send_email_notification else "false"),
        *(("status_ids[]", str(one)) for one in posted.status_ids),
    ]


# `Any`: facts of a template.
async def _page(me: StaffMember, id: int, **facts: Any) -> Answer:
    context = me.context
    account = await context.accounts.find(id)
    if account is None or account.deleted_at is not None:
        raise NotFound
    user = (await context.database.read(admin_accounts.find_users, [id])).get(id)
    found = await context.database.read(strikes.of_account, id, SHOWN)
    about = [
        one
        for resolved in (False, True)
        for one in await context.database.read(reports.page, ReportFilter(resolved, None, id), Page(SHOWN))
    ]
    log = await _log(me, id)
    invited_by = None if user is None or user.invited_by_account_id is None else user.invited_by_account_id
    named = [one.account_id for one in found if one.account_id] + ([invited_by] if invited_by else [])
    return me.page(
        "account.html",
        line=line_of(account, user),
        account=account,
        account_user=user,
        strikes=found,
        names=await context.accounts.find_many(named),
        reports=about,
        entries=log,
        acts=[one for one in ACTS if user is not None or one[0] not in ("disable", "none")],
        most_text=MOST_TEXT,
        roles=[(role, role.capitalize()) for role in ROLES if outranks(me.user.role, role)],
        below=outranks(me.user.role, None if user is None else user.role),
        **facts,
    )


async def _log(me: StaffMember, id: int) -> list[audit_log.AuditEntry]:
    if not me.may(Permission.VIEW_AUDIT_LOG):
        return []
    wanted = AuditFilter(target_type="account", target_id=id)
    return await me.context.database.read(audit_log.page, wanted, Page(SHOWN))

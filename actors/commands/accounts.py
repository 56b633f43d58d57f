"""Acts of staff on whole accounts: approve and reject a sign-up, delete an account, give a role.

The actor of the account that an act is done to takes its command.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import moderation, registration
from ...storage.moderation import ModeratedRow
from ..effects.mail import mail
from ..kernel import Command, Refused
from ..mail.templates import APPROVAL
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.roles import Permission
from ..staff.acts import LAST_OWNER, Staff, StaffAct, act_on_account, needs_rank
from .account_deletions import deletion_facts, mark_deleted
from .moderation import named, publish_moderated


@dataclass(frozen=True, slots=True)
class ApproveSignUp(Command[None]):
    """Command to the account that it is done to: approve its sign-up."""

    staff: Staff


@dataclass(frozen=True, slots=True)
class RejectSignUp(Command[None]):
    """Command to the account that it is done to: delete it. It was never approved."""

    staff: Staff


@dataclass(frozen=True, slots=True)
class DeleteSuspendedNow(Command[None]):
    """Command to the account that it is done to: delete it, without waiting for the end of its suspension."""

    staff: Staff


@dataclass(frozen=True, slots=True)
class GiveRole(Command[None]):
    """Command to the account that it is done to: give its user another role."""

    staff: Staff
    role: str


@act_on_account(ApproveSignUp, Permission.MANAGE_USERS)
async def approve(act: StaffAct, target: ModeratedRow, message: ApproveSignUp) -> Refused | None:
    """Approve a sign-up, and promise the mail about it. Refused if it was approved."""
    if not await registration.approve(act.db, target.id, act.now):
        return NOT_ALLOWED
    await act.log("approve", named(target))
    act.promise(mail(APPROVAL, target.id))
    await publish_moderated(act, target.id)
    return None


@act_on_account(RejectSignUp, Permission.MANAGE_USERS)
async def reject(act: StaffAct, target: ModeratedRow, message: RejectSignUp) -> Refused | None:
    """Delete the account of a sign-up. Refused if it was approved."""
    if not await registration.reject(act.db, target.id):
        return NOT_ALLOWED
    await act.log("reject", named(target))
    await publish_moderated(act, target.id)
    return None


@act_on_account(DeleteSuspendedNow, Permission.DELETE_USER_DATA)
async def delete_suspended(act: StaffAct, target: ModeratedRow, message: DeleteSuspendedNow) -> Refused | None:
    """Delete a suspended account. Refused if the account is not suspended."""
    return NOT_ALLOWED if target.suspended_at is None else await _delete(act, target)


@needs_rank(Permission.DELETE_USER_DATA)
async def delete(act: StaffAct, target: ModeratedRow) -> Refused | None:
    """Delete an account, suspended or not. Only the command line does."""
    return await _delete(act, target)


async def _delete(act: StaffAct, target: ModeratedRow) -> Refused | None:
    """Delete an account. Its posts and files are erased by the running server."""
    if await moderation.is_last_owner(act.db, target.id):
        return LAST_OWNER
    deleted = await mark_deleted(act, target.id)
    if deleted is None:
        return NOT_FOUND
    await publish_moderated(act, target.id)
    act.publish(*deletion_facts(target.id, deleted))
    await act.log("delete", named(target))
    return None


@act_on_account(GiveRole, Permission.MANAGE_ROLES)
async def give_role(act: StaffAct, target: ModeratedRow, message: GiveRole) -> Refused | None:
    """Give a user another role, below that of the staff. Its cached tokens are read again."""
    if target.role is None or not await act.may_act_on(message.role):
        return NOT_ALLOWED
    if message.role != "owner" and await moderation.is_last_owner(act.db, target.id):
        return LAST_OWNER
    await moderation.set_role(act.db, target.id, message.role)
    await act.log("change_role", named(target), before=target.role, after=message.role)
    await publish_moderated(act, target.id)
    return None

"""Acts of staff on whole accounts: approve and reject a sign-up, delete an account, give a role.

Each is a turn of the account that it is done to. The command line calls the same acts, on the rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import moderation, registration
from ...storage.account_deletions import DeletedAccount
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.mail import mail
from ..kernel import Message, Refused, turn
from ..mail.templates import APPROVAL
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.roles import Permission
from ..staff import LAST_OWNER, Staff, StaffAct, act_in_turn
from .account_deletions import deletion_facts, mark_deleted
from .moderation import named, permitted, publish_moderated


@dataclass(frozen=True, slots=True)
class ApproveSignUp(Message[None]):
    """Command to the account that it is done to: approve its sign-up."""

    staff: Staff


@dataclass(frozen=True, slots=True)
class RejectSignUp(Message[None]):
    """Command to the account that it is done to: delete it. It was never approved."""

    staff: Staff


@dataclass(frozen=True, slots=True)
class DeleteSuspendedNow(Message[None]):
    """Command to the account that it is done to: delete it, without waiting for the end of its suspension."""

    staff: Staff


@dataclass(frozen=True, slots=True)
class GiveRole(Message[None]):
    """Command to the account that it is done to: give its user another role."""

    staff: Staff
    role: str


@turn(AccountActor, ApproveSignUp)
async def approve_sign_up(account: AccountActor, message: ApproveSignUp) -> Refused | None:
    return await act_in_turn(account, message.staff, approve, account.id)


@turn(AccountActor, RejectSignUp)
async def reject_sign_up(account: AccountActor, message: RejectSignUp) -> Refused | None:
    return await act_in_turn(account, message.staff, reject, account.id)


@turn(AccountActor, DeleteSuspendedNow)
async def delete_suspended_now(account: AccountActor, message: DeleteSuspendedNow) -> Refused | None:
    deleted = await act_in_turn(account, message.staff, delete_suspended, account.id)
    return deleted if isinstance(deleted, Refused) else None


@turn(AccountActor, GiveRole)
async def take_role(account: AccountActor, message: GiveRole) -> Refused | None:
    return await act_in_turn(account, message.staff, give_role, account.id, message.role)


async def approve(db: Connection, act: StaffAct, account_id: int) -> Refused | None:
    """Approve a sign-up, in a transaction, and promise the mail about it. Refused if it was approved."""
    target = await act.lock(db, account_id)
    if target is None:
        return NOT_FOUND
    if not await permitted(db, act, target) or not await registration.approve(db, account_id, act.now):
        return NOT_ALLOWED
    await act.log(db, "approve", named(target))
    await act.promise(db, [mail(APPROVAL, account_id)])
    await publish_moderated(db, act, account_id)
    return None


async def reject(db: Connection, act: StaffAct, account_id: int) -> Refused | None:
    """Delete the account of a sign-up, in a transaction. Refused if it was approved."""
    target = await act.lock(db, account_id)
    if target is None:
        return NOT_FOUND
    if not await permitted(db, act, target) or not await registration.reject(db, account_id):
        return NOT_ALLOWED
    await act.log(db, "reject", named(target))
    await publish_moderated(db, act, account_id)
    return None


async def delete_suspended(db: Connection, act: StaffAct, account_id: int) -> DeletedAccount | Refused:
    """Delete a suspended account, in a transaction. One that is not suspended is refused."""
    target = await act.lock(db, account_id)
    if target is not None and target.suspended_at is None:
        return NOT_ALLOWED
    return await delete(db, act, account_id)


async def delete(db: Connection, act: StaffAct, account_id: int) -> DeletedAccount | Refused:
    """Delete an account, in a transaction. Its posts and files are erased by the running server."""
    target = await act.lock(db, account_id)
    if target is None:
        return NOT_FOUND
    if not await act.may(db, Permission.DELETE_USER_DATA) or not await act.may_act_on(db, target.role):
        return NOT_ALLOWED
    if await moderation.is_last_owner(db, account_id):
        return LAST_OWNER
    deleted = await mark_deleted(db, account_id, act.now, act.promise)
    if deleted is None:
        return NOT_FOUND
    await publish_moderated(db, act, account_id)
    await act.publish(db, deletion_facts(account_id, deleted))
    await act.log(db, "delete", named(target))
    return deleted


async def give_role(db: Connection, act: StaffAct, account_id: int, role: str) -> Refused | None:
    """Give a user another role, in a transaction. Its cached tokens are read again."""
    target = await act.lock(db, account_id)
    if target is None:
        return NOT_FOUND
    if not await act.may(db, Permission.MANAGE_ROLES) or target.role is None:
        return NOT_ALLOWED
    if not await act.may_act_on(db, target.role) or not await act.may_act_on(db, role):
        return NOT_ALLOWED
    if role != "owner" and await moderation.is_last_owner(db, account_id):
        return LAST_OWNER
    await moderation.set_role(db, account_id, role)
    await act.log(db, "change_role", named(target), before=target.role, after=role)
    await publish_moderated(db, act, account_id)
    return None

"""Acts of staff on an account: disable, silence, suspend, mark as sensitive, and their undoing.

Each is a turn of the account that it is done to. The command line calls the same acts, on the rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ...storage import moderation, reports, sessions
from ...storage.engine.database import Connection
from ...storage.moderation import ModeratedRow, State
from ..account import AccountActor, AccountChange
from ..effects.files import files_placed
from ..effects.moderation import (
    DeleteSuspended,
    TellStates,
    forget_end,
    moderation_facts,
    suspension_ends,
)
from ..effects.sending import account_changed
from ..kernel import Message, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.roles import Permission
from ..staff import LAST_OWNER, Staff, StaffAct, Target, act_in_turn
from .account_deletions import delete_if_suspended
from .striking import strike

Action = Literal["none", "disable", "sensitive", "silence", "suspend"]
# The names of the ends of states, in the audit log.
UNDONE: dict[State, str] = {
    "disable": "enable",
    "sensitive": "unsensitive",
    "silence": "unsilence",
    "suspend": "unsuspend",
}


@dataclass(frozen=True, slots=True)
class ModerateAccount(Message[None]):
    """Command to the account that it is done to: warn its user, or put it in a state.

    All its open reports are resolved, for a mere warning only the named one. With `mailed` its user is sent a mail.
    """

    staff: Staff
    action: Action
    text: str = ""
    report_id: int | None = None
    mailed: bool = False


@dataclass(frozen=True, slots=True)
class UndoModeration(Message[None]):
    """Command to the account that it is done to: take it out of a state."""

    staff: Staff
    state: State


@turn(AccountActor, ModerateAccount)
async def moderate_account(account: AccountActor, message: ModerateAccount) -> Refused | None:
    strike_id = await act_in_turn(account, message.staff, moderate, account.id, message)
    return strike_id if isinstance(strike_id, Refused) else None


@turn(AccountActor, UndoModeration)
async def undo_moderation(account: AccountActor, message: UndoModeration) -> Refused | None:
    return await act_in_turn(account, message.staff, undo, account.id, message.state)


@turn(AccountActor, TellStates)
async def tell_states(account: AccountActor, message: TellStates) -> None:
    await account.change(publish_states)


@turn(AccountActor, DeleteSuspended)
async def delete_suspended(account: AccountActor, message: DeleteSuspended) -> None:
    await delete_if_suspended(account, datetime.fromisoformat(message.since))


async def publish_states(change: AccountChange) -> None:
    """Publish the states of the account, as its rows are now."""
    change.publish(*await moderation_facts(change.db, change.account.id))


async def moderate(db: Connection, act: StaffAct, account_id: int, message: ModerateAccount) -> int | Refused:
    """Do an act of staff on an account, in a transaction. Return the id of the strike."""
    target = await act.lock(db, account_id)
    if target is None:
        return NOT_FOUND
    if not await permitted(db, act, target) or (message.action == "disable" and target.role is None):
        return NOT_ALLOWED
    if message.action in ("disable", "suspend") and await moderation.is_last_owner(db, account_id):
        return LAST_OWNER
    if message.report_id is not None and not await reports.is_about(db, message.report_id, account_id):
        return NOT_FOUND
    if message.action == "none":
        resolved = await reports.resolve(db, message.report_id, account_id, act.staff.account_id, act.now)
    else:
        await _enter(db, act, target, message.action)
        resolved = await reports.resolve_about(db, account_id, act.staff.account_id, act.now)
    await act.log(db, message.action, named(target), message.text, reports=[str(id) for id in resolved])
    await publish_moderated(db, act, account_id)
    return await strike(db, act, target, message.action, message.text, message.report_id, mailed=message.mailed)


async def undo(db: Connection, act: StaffAct, account_id: int, state: State) -> Refused | None:
    """Take an account out of a state, in a transaction. Only a suspension that there is not is refused."""
    target = await act.lock(db, account_id)
    if target is None:
        return NOT_FOUND
    if not await permitted(db, act, target) or (state == "disable" and target.role is None):
        return NOT_ALLOWED
    if target.since(state) is None:
        return NOT_ALLOWED if state == "suspend" else None
    await leave(db, act, target, state)
    return None


async def leave(db: Connection, act: StaffAct, target: ModeratedRow, state: State) -> None:
    """Take an account out of a state that it is in."""
    await moderation.set_state(db, target.id, state, None, act.now)
    if state == "suspend":
        await forget_end(db, target.id)
        await act.promise(db, [files_placed(target.id), account_changed(target.id)])
    await act.log(db, UNDONE[state], named(target))
    await publish_moderated(db, act, target.id)


async def _enter(db: Connection, act: StaffAct, target: ModeratedRow, state: State) -> None:
    """Put an account in a state. If it is in it already, the first time stays."""
    if target.since(state) is None:
        await moderation.set_state(db, target.id, state, act.now, act.now)
        if state == "suspend":
            await act.promise(
                db, [suspension_ends(target.id, act.now), files_placed(target.id), account_changed(target.id)]
            )
    if state in ("disable", "suspend"):
        await sessions.close(db, target.id)


async def publish_moderated(db: Connection, act: StaffAct, account_id: int) -> None:
    """Publish the states of an account as an act has left them."""
    await act.publish(db, await moderation_facts(db, account_id))


async def permitted(db: Connection, act: StaffAct, target: ModeratedRow) -> bool:
    """True if the staff may act on this account."""
    return await act.may(db, Permission.MANAGE_USERS) and await act.may_act_on(db, target.role)


def named(target: ModeratedRow) -> Target:
    return Target("account", target.id, target.acct)

"""Acts of staff on an account: disable, silence, suspend, mark as sensitive, and their undoing.

The actor of the account that an act is done to takes its command.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ...storage import moderation, reports, sessions
from ...storage.moderation import ModeratedRow, State
from ..account import AccountActor, AccountChange
from ..effects.files import files_placed
from ..effects.moderation import (
    DeleteSuspended,
    forget_end,
    suspension_ends,
)
from ..effects.sending import account_changed
from ..facts.moderation import TellStates, moderation_facts
from ..kernel import Command, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.roles import Permission
from ..staff.acts import LAST_OWNER, Staff, StaffAct, Target, act_on_account
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
class ModerateAccount(Command[None]):
    """Command to the account that it is done to: warn its user, or put it in a state.

    All its open reports are resolved; for a warning, only the named report. With `mailed` its user is sent a mail.
    """

    staff: Staff
    action: Action
    text: str = ""
    report_id: int | None = None
    mailed: bool = False


@dataclass(frozen=True, slots=True)
class UndoModeration(Command[None]):
    """Command to the account that it is done to: take it out of a state."""

    staff: Staff
    state: State


@turn(AccountActor, TellStates)
async def tell_states(account: AccountActor, message: TellStates) -> None:
    await account.change(publish_states)


@turn(AccountActor, DeleteSuspended)
async def delete_suspended(account: AccountActor, message: DeleteSuspended) -> None:
    await delete_if_suspended(account, datetime.fromisoformat(message.since))


async def publish_states(change: AccountChange) -> None:
    """Publish the states of the account, as its rows are now."""
    change.publish(*await moderation_facts(change.db, change.account.id))


@act_on_account(ModerateAccount, Permission.MANAGE_USERS)
async def moderate(act: StaffAct, target: ModeratedRow, message: ModerateAccount) -> Refused | None:
    """Warn the user of an account, or put it in a state. Each is a strike."""
    db, action, report_id = act.db, message.action, message.report_id
    if action == "disable" and target.role is None:
        return NOT_ALLOWED
    if action in ("disable", "suspend") and await moderation.is_last_owner(db, target.id):
        return LAST_OWNER
    if report_id is not None and not await reports.is_about(db, report_id, target.id):
        return NOT_FOUND
    if action == "none":
        resolved = await reports.resolve(db, report_id, target.id, act.staff.account_id, act.now)
    else:
        await _enter(act, target, action)
        resolved = await reports.resolve_about(db, target.id, act.staff.account_id, act.now)
    await act.log(action, named(target), message.text, reports=[str(id) for id in resolved])
    await publish_moderated(act, target.id)
    await strike(act, target, action, message.text, report_id, mailed=message.mailed)
    return None


@act_on_account(UndoModeration, Permission.MANAGE_USERS)
async def undo(act: StaffAct, target: ModeratedRow, message: UndoModeration) -> Refused | None:
    """Take an account out of a state. Only a suspension that there is not is refused."""
    state = message.state
    if state == "disable" and target.role is None:
        return NOT_ALLOWED
    if target.since(state) is None:
        return NOT_ALLOWED if state == "suspend" else None
    await leave(act, target, state)
    return None


async def leave(act: StaffAct, target: ModeratedRow, state: State) -> None:
    """Take an account out of a state that it is in."""
    await moderation.set_state(act.db, target.id, state, None, act.now)
    if state == "suspend":
        await forget_end(act.db, target.id)
        act.promise(files_placed(target.id), account_changed(target.id))
    await act.log(UNDONE[state], named(target))
    await publish_moderated(act, target.id)


async def _enter(act: StaffAct, target: ModeratedRow, state: State) -> None:
    """Put an account in a state. If it is in it already, the first time stays."""
    if target.since(state) is None:
        await moderation.set_state(act.db, target.id, state, act.now, act.now)
        if state == "suspend":
            act.promise(suspension_ends(target.id, act.now), files_placed(target.id), account_changed(target.id))
    if state in ("disable", "suspend"):
        await sessions.close(act.db, target.id)


async def publish_moderated(act: StaffAct, account_id: int) -> None:
    """Publish the states of an account as an act has left them."""
    act.publish(*await moderation_facts(act.db, account_id))


def named(target: ModeratedRow) -> Target:
    return Target("account", target.id, target.acct)

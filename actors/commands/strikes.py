"""Acts of staff on single statuses, and appeals against strikes, in the turn of the account that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from ...storage import reports, statuses, strikes, users
from ...storage.moderation import ModeratedRow, State
from ...storage.strikes import Strike
from ..account import AccountActor, AccountChange
from ..effects.strikes import ActOnStatuses, appeal_mail, strike_carried_out
from ..kernel import Command, Refused, SystemCommand, finished, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.roles import Permission, roles_with
from ..staff.acts import Staff, StaffAct, Target, act_in_turn, needs_rank
from .edits import mark_sensitive
from .interacting import invalid
from .moderation import leave, named
from .statuses import DeleteStatus, delete_status
from .striking import strike

StatusAction = Literal["delete_statuses", "mark_statuses_as_sensitive"]
MOST_STATUSES = 100  # of a strike
APPEAL_WITHIN = timedelta(days=20)
MOST_APPEAL_TEXT = 2000  # characters
# The states that a strike's action puts an account in.
STATES: dict[str, State] = {
    "disable": "disable",
    "sensitive": "sensitive",
    "silence": "silence",
    "suspend": "suspend",
}

NO_STATUSES = invalid("Statuses can't be blank")
TOO_MANY = invalid(f"Statuses is too long (maximum is {MOST_STATUSES} items)")
BLANK = invalid("Text can't be blank")
TOO_LONG = invalid(f"Text is too long (maximum is {MOST_APPEAL_TEXT} characters)")
TOO_LATE = invalid("Strike can't be appealed any more")


@dataclass(frozen=True, slots=True)
class ModerateStatuses(Command[None]):
    """Command to the author: remove statuses with their media, or mark them as sensitive."""

    staff: Staff
    action: StatusAction
    status_ids: tuple[int, ...]
    text: str = ""
    report_id: int | None = None
    mailed: bool = False


@dataclass(frozen=True, slots=True)
class Appeal(SystemCommand[None]):
    """Command: appeal against a strike. Each strike can be appealed once."""

    strike_id: int
    text: str


@dataclass(frozen=True, slots=True)
class DecideAppeal(Command[None]):
    """Command to the account that appeals: undo the strike, or let it stand."""

    staff: Staff
    appeal_id: int
    approved: bool


# Statuses -------------------------------------------------------------------------------------------------------------


@turn(AccountActor, ModerateStatuses)
async def moderate_statuses(account: AccountActor, message: ModerateStatuses) -> Refused | None:
    strike_id = await act_in_turn(account, message.staff, strike_statuses, account.id, message)
    if isinstance(strike_id, Refused):
        return strike_id
    return await finished(act_on_statuses(account, ActOnStatuses(strike_id)))


@turn(AccountActor, ActOnStatuses)
async def act_on_statuses(account: AccountActor, message: ActOnStatuses) -> None:
    """Do the remaining work, as the rows have it: a crash or an appeal may have come in between."""
    found = await account.context.database.read(strikes.find, message.strike_id)
    if found is None:
        return
    for id in found.status_ids or ():
        if found.action == "mark_statuses_as_sensitive":
            await account.change(mark_sensitive, id, sensitive=found.overruled_at is None)
        elif found.overruled_at is None:
            await finished(delete_status(account, DeleteStatus(id, delete_media=True, by_staff=True)))


@needs_rank(Permission.MANAGE_USERS | Permission.MANAGE_REPORTS)
async def strike_statuses(act: StaffAct, target: ModeratedRow, message: ModerateStatuses) -> int | Refused:
    """Strike an account for statuses of it. They are removed or marked afterwards. Return the id of the strike."""
    db, report_id = act.db, message.report_id
    if not message.status_ids or len(message.status_ids) > MOST_STATUSES:
        return TOO_MANY if message.status_ids else NO_STATUSES
    found = await statuses.find_many(db, message.status_ids)
    if any(id not in found or found[id].account_id != target.id for id in message.status_ids):
        return NOT_FOUND
    if report_id is not None and not await reports.is_about(db, report_id, target.id):
        return NOT_FOUND
    if report_id is not None:
        await reports.resolve(db, report_id, target.id, act.staff.account_id, act.now)
    ids = tuple(dict.fromkeys(message.status_ids))
    if message.action == "mark_statuses_as_sensitive":  # the end of the strike must leave the others as they were
        ids = tuple(id for id in ids if not found[id].sensitive)
    await act.log(message.action, named(target), message.text, statuses=[str(id) for id in ids])
    id = await strike(act, target, message.action, message.text, report_id, ids, mailed=message.mailed)
    act.promise(strike_carried_out(id, target.id))
    return id


# Appeals --------------------------------------------------------------------------------------------------------------


@turn(AccountActor, Appeal)
async def appeal(account: AccountActor, message: Appeal) -> Refused | None:
    return await account.change(_appeal, message)


async def _appeal(change: AccountChange, message: Appeal) -> Refused | None:
    """Store an appeal, and promise mails to the staff who decide about it."""
    db, account = change.db, change.account
    found, text = await strikes.lock(db, message.strike_id), message.text.strip()
    if found is None or found.target_account_id != account.id:
        return NOT_FOUND
    if not text or len(text) > MOST_APPEAL_TEXT:
        return TOO_LONG if text else BLANK
    if not may_be_appealed(found) or change.now > found.created_at + APPEAL_WITHIN:
        return TOO_LATE
    if not await strikes.insert_appeal(db, change.ids.next(), found, text, change.now):
        return TOO_LATE
    deciding = await users.with_roles(db, roles_with(Permission.MANAGE_APPEALS))
    change.promise(*(appeal_mail(found.id, id) for id in deciding))
    return None


def may_be_appealed(struck: Strike) -> bool:
    """True if the strike counts, and there is no appeal against it."""
    return struck.appeal_id is None and struck.overruled_at is None


@turn(AccountActor, DecideAppeal)
async def decide_appeal(account: AccountActor, message: DecideAppeal) -> Refused | None:
    decided = await act_in_turn(account, message.staff, decide, account.id, message)
    if isinstance(decided, Refused):
        return decided
    return await finished(act_on_statuses(account, ActOnStatuses(decided.id))) if message.approved else None


@needs_rank(Permission.MANAGE_APPEALS)
async def decide(act: StaffAct, target: ModeratedRow, message: DecideAppeal) -> Strike | Refused:
    """Decide about an appeal. The consequences of the strike are undone, unless another strike has them too."""
    db, appeal_id = act.db, message.appeal_id
    found = await strikes.find_appealed(db, appeal_id)
    if found is None or found.target_account_id != target.id:
        return NOT_FOUND
    locked = await strikes.lock(db, found.id)
    if locked is None or locked.is_decided:
        return NOT_ALLOWED
    await strikes.decide(db, appeal_id, act.staff.account_id, act.now, approved=message.approved)
    await act.log("approve_appeal" if message.approved else "reject_appeal", Target("appeal", appeal_id, target.acct))
    if message.approved:
        await strikes.overrule(db, found.id, act.now)
        state = STATES.get(found.action)
        since = None if state is None else target.since(state)
        if state is not None and since is not None and not await strikes.has_other(db, found, since):
            await leave(act, target, state)
        act.promise(strike_carried_out(found.id, target.id))
    act.promise(appeal_mail(found.id, target.id))
    return found

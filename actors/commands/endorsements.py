"""Recommended accounts, in the turn of the account that recommends them. No other actor is notified."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import endorsements, relations
from ..account import AccountActor, AccountChange
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from .pairs import find_present

NOT_FOLLOWED = Refused(422, "Validation failed: You must be already following the person you want to endorse")


@dataclass(frozen=True, slots=True)
class Endorse(Command[None]):
    """Command: recommend a followed account."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Unendorse(Command[None]):
    """Command: stop recommending an account."""

    target_id: int


@turn(AccountActor, Endorse)
async def endorse(account: AccountActor, message: Endorse) -> Refused | None:
    return await account.change(_endorse, message.target_id)


@turn(AccountActor, Unendorse)
async def unendorse(account: AccountActor, message: Unendorse) -> None:
    await account.transact(endorsements.delete, account.id, message.target_id)


async def _endorse(change: AccountChange, target_id: int) -> Refused | None:
    db, me = change.db, change.account.id
    await relations.lock_pair(db, me, target_id)
    if await find_present(db, target_id) is None:
        return NOT_FOUND
    endorsed = await endorsements.insert(db, change.ids.next(), me, target_id, change.now)
    return None if endorsed else NOT_FOLLOWED

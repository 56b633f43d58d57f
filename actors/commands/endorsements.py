"""Recommended accounts, in the turn of the account that recommends them. No other actor is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import endorsements, relations
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from .relations import find_present

NOT_FOLLOWED = Refused(422, "Validation failed: You must be already following the person you want to endorse")


@dataclass(frozen=True, slots=True)
class Endorse(Message[None]):
    """Command: recommend a followed account."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Unendorse(Message[None]):
    """Command: stop recommending an account."""

    target_id: int


@turn(AccountActor, Endorse)
async def endorse(account: AccountActor, message: Endorse) -> Refused | None:
    return await account.transact(_endorse, account, message.target_id, account.now)


@turn(AccountActor, Unendorse)
async def unendorse(account: AccountActor, message: Unendorse) -> None:
    await account.transact(endorsements.delete, account.id, message.target_id)


async def _endorse(db: Connection, account: AccountActor, target_id: int, now: datetime) -> Refused | None:
    await relations.lock_pair(db, account.id, target_id)
    if await find_present(db, target_id) is None:
        return NOT_FOUND
    endorsed = await endorsements.insert(db, account.context.ids.next(), account.id, target_id, now)
    return None if endorsed else NOT_FOLLOWED

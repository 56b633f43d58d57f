"""Recommending accounts on one's profile, and private notes about them: nobody else's actor need hear of either."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import endorsements, notes, relations
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from .relations import NOT_FOUND, find_somebody

NOT_FOLLOWED = Refused(422, "Validation failed: You must be already following the person you want to endorse")


@dataclass(frozen=True, slots=True)
class Endorse(Message[None]):
    """Command: recommend an account that one follows."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Unendorse(Message[None]):
    """Command: recommend it no longer."""

    target_id: int


@dataclass(frozen=True, slots=True)
class WriteNote(Message[None]):
    """Command: a note about an account, for oneself; an empty one strikes it out."""

    target_id: int
    comment: str


@turn(AccountActor, Endorse)
async def endorse(account: AccountActor, message: Endorse) -> Refused | None:
    return await account.transact(_endorse, account, message.target_id, account.now)


@turn(AccountActor, Unendorse)
async def unendorse(account: AccountActor, message: Unendorse) -> None:
    await account.transact(endorsements.delete, account.id, message.target_id)


@turn(AccountActor, WriteNote)
async def write_note(account: AccountActor, message: WriteNote) -> Refused | None:
    return await account.transact(_write_note, account, message, account.now)


async def _endorse(db: Connection, account: AccountActor, target_id: int, now: datetime) -> Refused | None:
    await relations.lock_pair(db, account.id, target_id)
    if await find_somebody(db, target_id) is None:
        return NOT_FOUND
    endorsed = await endorsements.insert(db, account.context.ids.next(), account.id, target_id, now)
    return None if endorsed else NOT_FOLLOWED


async def _write_note(db: Connection, account: AccountActor, message: WriteNote, now: datetime) -> Refused | None:
    if await find_somebody(db, message.target_id) is None:
        return NOT_FOUND
    return await notes.put(db, account.id, message.target_id, message.comment, now)

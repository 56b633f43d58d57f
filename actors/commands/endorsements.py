"""Recommending accounts on one's profile, and private notes about them: nobody else's actor need hear of either."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import endorsements, notes, relations
from ...storage.engine import Connection
from ..account import Account
from ..kernel import Refused, turn
from .relations import NOT_FOUND, find_somebody

NOT_FOLLOWED = Refused(422, "Validation failed: You must be already following the person you want to endorse")


@dataclass(frozen=True, slots=True)
class Endorse:
    """Command: recommend an account that one follows."""

    target_id: int


@dataclass(frozen=True, slots=True)
class Unendorse:
    """Command: recommend it no longer."""

    target_id: int


@dataclass(frozen=True, slots=True)
class WriteNote:
    """Command: a note about an account, for oneself; an empty one strikes it out."""

    target_id: int
    comment: str


@turn(Account, Endorse)
async def endorse(self: Account, message: Endorse) -> Refused | None:
    return await self.transact(_endorse, self, message.target_id, self.now)


@turn(Account, Unendorse)
async def unendorse(self: Account, message: Unendorse) -> None:
    await self.transact(endorsements.delete, self.id, message.target_id)


@turn(Account, WriteNote)
async def write_note(self: Account, message: WriteNote) -> Refused | None:
    return await self.transact(_write_note, self, message, self.now)


async def _endorse(db: Connection, self: Account, target_id: int, now: datetime) -> Refused | None:
    await relations.lock_pair(db, self.id, target_id)
    if await find_somebody(db, target_id) is None:
        return NOT_FOUND
    endorsed = await endorsements.insert(db, self.backstage.ids.next(), self.id, target_id, now)
    return None if endorsed else NOT_FOLLOWED


async def _write_note(db: Connection, self: Account, message: WriteNote, now: datetime) -> Refused | None:
    if await find_somebody(db, message.target_id) is None:
        return NOT_FOUND
    return await notes.put(db, self.id, message.target_id, message.comment, now)

"""Private notes about accounts, in the turn of the account that writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import notes
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from .relations import find_present


@dataclass(frozen=True, slots=True)
class WriteNote(Message[None]):
    """Command: write a private note about an account. An empty one deletes it."""

    target_id: int
    comment: str


@turn(AccountActor, WriteNote)
async def write_note(account: AccountActor, message: WriteNote) -> Refused | None:
    return await account.transact(_write_note, account, message, account.now)


async def _write_note(db: Connection, account: AccountActor, message: WriteNote, now: datetime) -> Refused | None:
    if await find_present(db, message.target_id) is None:
        return NOT_FOUND
    return await notes.put(db, account.id, message.target_id, message.comment, now)

"""Private notes about accounts, in the turn of the account that writes them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import notes
from ..account import AccountActor, AccountChange
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from .pairs import find_present


@dataclass(frozen=True, slots=True)
class WriteNote(Command[None]):
    """Command: write a private note about an account. An empty note deletes it."""

    target_id: int
    comment: str


@turn(AccountActor, WriteNote)
async def write_note(account: AccountActor, message: WriteNote) -> Refused | None:
    return await account.change(_write_note, message)


async def _write_note(change: AccountChange, message: WriteNote) -> Refused | None:
    if await find_present(change.db, message.target_id) is None:
        return NOT_FOUND
    return await notes.put(change.db, change.account.id, message.target_id, message.comment, change.now)

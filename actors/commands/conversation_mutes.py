"""Muting a conversation, in the turn of the account that wants to hear no more of it."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversation_mutes
from ...storage.engine import Connection
from ..account import Account
from ..kernel import Refused, turn
from .interacting import NOT_ALLOWED
from .statuses import NOT_FOUND, find_original


@dataclass(frozen=True, slots=True)
class MuteConversation:
    """Command: no notifications any more about the thread that a status is in."""

    status_id: int


@dataclass(frozen=True, slots=True)
class UnmuteConversation:
    """Command: notifications about the thread again."""

    status_id: int


@turn(Account, MuteConversation)
async def mute_conversation(self: Account, message: MuteConversation) -> Refused | None:
    """Only those who take part may: who does not hears nothing of it anyway."""
    status = await find_original(self, message.status_id)
    if status is None:
        return NOT_FOUND
    if not await self.transact(_mute, self, status.conversation_id):
        return NOT_ALLOWED
    self.flags.clear()  # they do not say which statuses are of the thread
    return None


async def _mute(db: Connection, self: Account, conversation_id: int) -> bool:
    if not await conversation_mutes.takes_part(db, self.id, conversation_id):
        return False
    await conversation_mutes.insert(db, self.id, conversation_id, self.now)
    return True


@turn(Account, UnmuteConversation)
async def unmute_conversation(self: Account, message: UnmuteConversation) -> Refused | None:
    status = await find_original(self, message.status_id)
    if status is None:
        return NOT_FOUND
    await self.transact(conversation_mutes.delete, self.id, status.conversation_id)
    self.flags.clear()
    return None

"""Muting a conversation, in the turn of the account that mutes it."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversation_mutes
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..facts import ChangedConversationMutes
from ..kernel import Message, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from .statuses import find_original


@dataclass(frozen=True, slots=True)
class MuteConversation(Message[None]):
    """Command: stop notifications about the thread that a status is in."""

    status_id: int


@dataclass(frozen=True, slots=True)
class UnmuteConversation(Message[None]):
    """Command: allow notifications about the thread again."""

    status_id: int


@turn(AccountActor, MuteConversation)
async def mute_conversation(account: AccountActor, message: MuteConversation) -> Refused | None:
    """Mute a thread. Refused for accounts that take no part in it: they get no notifications about it."""
    status = await find_original(account, message.status_id)
    if status is None:
        return NOT_FOUND
    if not await account.transact(_mute, account, status.conversation_id):
        return NOT_ALLOWED
    return await account.publish(ChangedConversationMutes(account.id))


async def _mute(db: Connection, account: AccountActor, conversation_id: int) -> bool:
    if not await conversation_mutes.takes_part(db, account.id, conversation_id):
        return False
    await conversation_mutes.insert(db, account.id, conversation_id, account.now)
    return True


@turn(AccountActor, UnmuteConversation)
async def unmute_conversation(account: AccountActor, message: UnmuteConversation) -> Refused | None:
    status = await find_original(account, message.status_id)
    if status is None:
        return NOT_FOUND
    await account.transact(conversation_mutes.delete, account.id, status.conversation_id)
    return await account.publish(ChangedConversationMutes(account.id))

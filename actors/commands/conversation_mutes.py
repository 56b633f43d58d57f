"""Muting a conversation, in the turn of the account that mutes it."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversation_mutes
from ..account import AccountActor, AccountChange
from ..facts.marks import ChangedConversationMutes
from ..kernel import Command, Refused, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from .statuses import find_original


@dataclass(frozen=True, slots=True)
class MuteConversation(Command[None]):
    """Command: stop notifications about the thread that a status is in."""

    status_id: int


@dataclass(frozen=True, slots=True)
class UnmuteConversation(Command[None]):
    """Command: allow notifications about the thread again."""

    status_id: int


@turn(AccountActor, MuteConversation)
async def mute_conversation(account: AccountActor, message: MuteConversation) -> Refused | None:
    """Mute a thread. Refused for accounts that take no part in it: they get no notifications about it."""
    status = await find_original(account, message.status_id)
    if status is None:
        return NOT_FOUND
    return await account.change(_mute, status.conversation_id)


async def _mute(change: AccountChange, conversation_id: int) -> Refused | None:
    if not await conversation_mutes.takes_part(change.db, change.account.id, conversation_id):
        return NOT_ALLOWED
    await conversation_mutes.insert(change.db, change.account.id, conversation_id, change.now)
    change.publish(ChangedConversationMutes(change.account.id))
    return None


@turn(AccountActor, UnmuteConversation)
async def unmute_conversation(account: AccountActor, message: UnmuteConversation) -> Refused | None:
    status = await find_original(account, message.status_id)
    if status is None:
        return NOT_FOUND
    return await account.change(_unmute, status.conversation_id)


async def _unmute(change: AccountChange, conversation_id: int) -> None:
    await conversation_mutes.delete(change.db, change.account.id, conversation_id)
    change.publish(ChangedConversationMutes(change.account.id))

"""Reading and removing conversations, in the turn of the account that owns them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversations
from ...storage.conversations import Conversation
from ..account import AccountActor
from ..conversations import ShownConversation, shown_conversations
from ..facts import ChangedConversation
from ..kernel import Message, Refused, turn

NOT_FOUND = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class MarkConversation(Message[ShownConversation]):
    """Command: mark a conversation as read or unread. The answer is its Correspondence."""

    id: int
    unread: bool


@dataclass(frozen=True, slots=True)
class RemoveConversation(Message[None]):
    """Command: remove a conversation from the account's list."""

    id: int


@turn(AccountActor, MarkConversation)
async def mark(account: AccountActor, message: MarkConversation) -> ShownConversation | Refused:
    context = account.context
    marked: Conversation | None = await account.transact(conversations.mark, account.id, message.id, message.unread)
    if marked is None:
        return NOT_FOUND
    (shown,) = await shown_conversations([marked], context.accounts, context.statuses)
    await account.publish(ChangedConversation(shown, news=False))
    return shown


@turn(AccountActor, RemoveConversation)
async def remove(account: AccountActor, message: RemoveConversation) -> Refused | None:
    found = await account.transact(conversations.remove, account.id, message.id)
    return None if found else NOT_FOUND

"""Streaming that a conversation has a new last status."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversations
from ...storage.conversations import Conversation
from ..conversations import shown_conversations
from ..kernel import Origin
from .registry import Effect, EffectContext, Promise, author_partition, carries_out


@dataclass(frozen=True, slots=True)
class StreamConversation(Effect):
    """Show a conversation in the streams of `account`."""

    id: int
    account: int


def conversation_changed(conversation: Conversation, author_id: int) -> Promise:
    """Promise to stream that a conversation has a new last status, by `author_id`."""
    return Promise(StreamConversation(conversation.id, conversation.account_id), author_partition(author_id))


@carries_out("conversation", StreamConversation)
async def stream_conversation(context: EffectContext, effect: StreamConversation, origin: Origin) -> None:
    conversation = await context.database.read(conversations.find, effect.account, effect.id)
    if conversation is not None:
        (shown,) = await shown_conversations([conversation], context.accounts, context.statuses)
        context.broadcast.corresponded(shown, origin)

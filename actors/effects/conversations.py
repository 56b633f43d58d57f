"""Streaming that a conversation has a new last status."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversations
from ...storage.conversations import Conversation
from ..conversations import shown_conversations
from ..facts import ChangedConversation
from .registry import ANNOUNCEMENTS, Attempt, Effect, EffectContext, Promise, carries_out, told_by


@dataclass(frozen=True, slots=True)
class StreamConversation(Effect):
    """Show a conversation in the streams of `account`."""

    id: int
    account: int


def conversation_changed(conversation: Conversation, author_id: int) -> Promise:
    """Promise to stream that a conversation has a new last status, by `author_id`."""
    return told_by(author_id, StreamConversation(conversation.id, conversation.account_id))


@carries_out("conversation", StreamConversation, ANNOUNCEMENTS, shown=True)
async def stream_conversation(context: EffectContext, effect: StreamConversation, attempt: Attempt) -> None:
    conversation = await context.database.read(conversations.find, effect.account, effect.id)
    if conversation is not None:
        (shown,) = await shown_conversations([conversation], context.accounts, context.statuses)
        await context.facts.apply([ChangedConversation(shown)], attempt.origin)

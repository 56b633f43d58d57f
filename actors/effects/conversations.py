"""Streaming that a conversation has a new last status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...storage import conversations
from ..facts.conversations import ChangedConversation
from ..facts.fact import promised_with
from ..kernel import Address
from ..promises import Effect, Promise, account_of, told_by
from .registry import ANNOUNCEMENTS, Attempt, EffectContext, carries_out


@dataclass(frozen=True, slots=True)
class StreamConversation(Effect):
    """Show a conversation in the streams of `account`."""

    id: int
    account: int


@promised_with(ChangedConversation)
def _changed(facts: Sequence[ChangedConversation], by: Address) -> Iterator[Promise]:
    """Promise to stream new last statuses. Marks are seen when the conversation is read."""
    told = [fact.conversation for fact in facts if fact.news]
    return (told_by(account_of(by), StreamConversation(one.id, one.account_id)) for one in told)


@carries_out("conversation", StreamConversation, ANNOUNCEMENTS, shown=True)
async def stream_conversation(context: EffectContext, effect: StreamConversation, attempt: Attempt) -> None:
    conversation = await context.database.read(conversations.find, effect.account, effect.id)
    if conversation is not None:
        await context.facts.apply([ChangedConversation(conversation)], attempt.origin)

"""Facts about conversations."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage.conversations import Conversation
from ..conversations import shown_conversations
from ..kernel import Origin
from .fact import Fact, Facts


@dataclass(frozen=True, slots=True)
class ChangedConversation(Fact):
    """A conversation has a new last status or, when that is no news, was marked."""

    conversation: Conversation
    news: bool = True

    async def announce(self, facts: Facts, origin: Origin) -> None:
        (shown,) = await shown_conversations([self.conversation], facts.accounts, facts.statuses)
        facts.broadcast.conversation_changed(shown, origin, news=self.news)

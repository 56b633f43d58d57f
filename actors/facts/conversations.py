"""Facts about conversations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...storage import conversations
from ...storage.conversations import Conversation
from ..broadcast.events import ConversationShown, Keyed
from ..kernel import Address, Message, Origin
from ..kernel.feed import key_of
from ..promises import Promise
from ..rules.visibility import Perspective
from ..shown.conversations import shown_conversations
from .fact import Fact, Facts, StoredFact, account_of, stored_as


@dataclass(frozen=True, slots=True)
class ConversationChanged(Message[None]):
    """To a home: a changed conversation of the account. A new last status has a key, so that streams show it once."""

    key: int | None
    event: ConversationShown


@stored_as("conversation", {"id": "id", "account": "account_id"}, streamed=True)
@dataclass(frozen=True, slots=True)
class ChangedConversation(StoredFact):
    """A conversation of an account has a new last status or, without `news`, was marked as read or unread.

    A turn publishes it with its row.
    """

    id: int
    account_id: int
    row: Conversation | None = None
    news: bool = True

    @classmethod
    def of(cls, row: Conversation, *, news: bool = True) -> ChangedConversation:
        return cls(row.id, row.account_id, row, news)

    async def notify_actors(self, facts: Facts, origin: Origin) -> None:
        """Notify the account's home, if it is awake."""
        if self.row is None or not facts.broadcast.is_home_awake(self.account_id):
            return
        for shown in await shown_conversations([self.row], facts.accounts, facts.statuses):
            last = shown.conversation.last_status_id
            key = conversation_key(last) if self.news and last else None
            message = ConversationChanged(key, facts.broadcast.with_position(ConversationShown(shown)))
            facts.broadcast.to_home(self.account_id, message, origin)

    def before_relay(self) -> ChangedConversation:
        return ChangedConversation(self.id, self.account_id)

    @classmethod
    def promised(cls, facts: Sequence[ChangedConversation], by: Address) -> Iterable[Promise]:
        """Return the promises to stream new last statuses. Marks are not stored: a page of conversations has them."""
        return [fact.promised_by(account_of(by)) for fact in facts if fact.news]

    async def read_again(self, facts: Facts, origin: Origin) -> Sequence[Fact]:
        return [ChangedConversation.of(row) for row in await self._find(facts)]

    async def own_events(self, facts: Facts, viewer: Perspective) -> list[Keyed]:
        rows = await self._find(facts) if self.account_id == viewer.account_id else []
        found = await shown_conversations(rows, facts.accounts, facts.statuses)
        return [(key_of(conversation_key(shown.last.id)), ConversationShown(shown)) for shown in found if shown.last]

    async def _find(self, facts: Facts) -> list[Conversation]:
        row = await facts.database.read(conversations.find, self.account_id, self.id)
        return [] if row is None else [row]


def conversation_key(last_status_id: int) -> int:
    """Return the key of a conversation's event in feeds. It is negative, unlike the ids of statuses."""
    return -last_status_id

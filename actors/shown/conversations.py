"""Conversations as they are shown: with the accounts that take part and the last status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...storage import accounts
from ...storage.conversations import Conversation
from .statuses import AccountCache, ShownStatus, StatusCache


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation with the records that its JSON needs."""

    conversation: Conversation
    participants: tuple[accounts.Account, ...]
    last: ShownStatus | None


async def shown_conversations(
    conversations: Sequence[Conversation], accounts: AccountCache, statuses: StatusCache
) -> list[ShownConversation]:
    """Return conversations with their records. The number of queries does not depend on the number of conversations."""
    people = await accounts.find_many(id for conversation in conversations for id in conversation.participant_ids)
    last_ids = [conversation.last_status_id for conversation in conversations]
    last = await statuses.show_many(id for id in last_ids if id is not None)
    return [
        ShownConversation(
            conversation,
            tuple(people[id] for id in conversation.participant_ids if id in people),
            last.get(conversation.last_status_id or 0),
        )
        for conversation in conversations
    ]

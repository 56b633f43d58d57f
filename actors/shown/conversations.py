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
    people = await accounts.find_many(id for one in conversations for id in one.participant_ids)
    last = await statuses.show_many(one.last_status_id for one in conversations if one.last_status_id is not None)
    return [
        ShownConversation(
            one,
            tuple(people[id] for id in one.participant_ids if id in people),
            last.get(one.last_status_id or 0),
        )
        for one in conversations
    ]

"""Reading and removing conversations, in the turn of the account that has them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversations
from ...storage.conversations import Conversation
from ..account import Account
from ..correspondence import Correspondence, correspondences
from ..kernel import Refused, turn

NOT_FOUND = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class MarkConversation:
    """Command: say whether a conversation was read; answered with its Correspondence."""

    id: int
    unread: bool


@dataclass(frozen=True, slots=True)
class RemoveConversation:
    """Command: take a conversation from one's list."""

    id: int


@turn(Account, MarkConversation)
async def mark(self: Account, message: MarkConversation) -> Correspondence | Refused:
    backstage = self.backstage
    marked: Conversation | None = await self.transact(conversations.mark, self.id, message.id, message.unread)
    if marked is None:
        return NOT_FOUND
    (shown,) = await correspondences([marked], backstage.accounts, backstage.statuses)
    backstage.broadcast.corresponded(shown, self.origin, news=False)
    return shown


@turn(Account, RemoveConversation)
async def remove(self: Account, message: RemoveConversation) -> Refused | None:
    found = await self.transact(conversations.remove, self.id, message.id)
    return None if found else NOT_FOUND

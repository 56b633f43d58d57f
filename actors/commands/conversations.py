"""Reading and removing conversations, in the turn of the account that owns them."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import conversations
from ...storage.conversations import Conversation
from ...storage.upkeep.paging import Page
from ..account import AccountActor, AccountChange
from ..facts.conversations import ChangedConversation
from ..facts.notifications import ChangedOwnRows
from ..kernel import Answer, Command, Refused, SystemMessage, turn
from ..refusals import NOT_FOUND
from ..shown.conversations import ShownConversation, shown_conversations


@dataclass(frozen=True, slots=True)
class MarkConversation(Command[ShownConversation]):
    """Command: mark a conversation as read or unread. The answer is its Correspondence."""

    id: int
    unread: bool


@dataclass(frozen=True, slots=True)
class RemoveConversation(Command[None]):
    """Command: remove a conversation from the account's list."""

    id: int


@dataclass(frozen=True, slots=True)
class NewestConversations(SystemMessage[tuple[Conversation, ...]]):
    """Query: the first page of the account's conversations."""

    limit: int


@turn(AccountActor, NewestConversations)
def tell_newest(account: AccountActor, message: NewestConversations) -> Answer[tuple[Conversation, ...]]:
    """Return the conversations from the cache, else after one query."""
    kept = account.context.own_rows.find(account.id, message)
    return kept if kept is not None else _read_newest(account, message)


async def _read_newest(account: AccountActor, message: NewestConversations) -> tuple[Conversation, ...]:
    database, own_rows = account.context.database, account.context.own_rows

    async def read() -> list[Conversation]:
        return await database.read(conversations.page, account.id, Page(message.limit))

    return await own_rows.load(account.id, message, read, lambda conversation: conversation.last_status_id)


@turn(AccountActor, MarkConversation)
async def mark(account: AccountActor, message: MarkConversation) -> ShownConversation | Refused:
    context = account.context
    marked = await account.change(_mark, message)
    if isinstance(marked, Refused):
        return marked
    (shown,) = await shown_conversations([marked], context.accounts, context.statuses)
    return shown


async def _mark(change: AccountChange, message: MarkConversation) -> Conversation | Refused:
    marked: Conversation | None = await conversations.mark(change.db, change.account.id, message.id, message.unread)
    if marked is None:
        return NOT_FOUND
    change.publish(ChangedConversation.of(marked, news=False))
    return marked


@turn(AccountActor, RemoveConversation)
async def remove(account: AccountActor, message: RemoveConversation) -> Refused | None:
    return None if await account.change(_remove, message.id) else NOT_FOUND


async def _remove(change: AccountChange, id: int) -> bool:
    """Remove a conversation. False if there is none: then the kept pages may be outdated, and are dropped too."""
    change.publish(ChangedOwnRows(change.account.id))
    return await conversations.remove(change.db, change.account.id, id)
